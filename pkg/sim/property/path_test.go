package property

import (
	"reflect"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

func TestRelated(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"name", "name", true},
		{"guest", "guest.ipAddress", true},
		{"guest.ipAddress", "guest", true},
		{"guest", "guestHeartbeatStatus", false},
		{"guest.net", "guest.ipAddress", false},
		{"config.hardware.device", "config.hardware.device[4000]", true},
		{"config", `config.extraConfig["a.b"].value`, true},
		{`config.extraConfig["a"]`, "config.extraConfig", true},
		{`config.extraConfig["a"]`, `config.extraConfig["a.b"]`, false},
		{`config.extraConfig["a"]`, `config.extraConfig["a"].value`, true},
	}
	for _, test := range tests {
		if got := related(test.a, test.b); got != test.want {
			t.Errorf("related(%q, %q) = %v", test.a, test.b, got)
		}
		if got := related(test.b, test.a); got != test.want {
			t.Errorf("related(%q, %q) = %v", test.b, test.a, got)
		}
	}
}

func TestDigestReportsValuesApart(t *testing.T) {
	s := newSchema()
	now := time.Now()
	values := []any{
		nil, "", "a", int32(0), int32(1), false, true, now, now.Add(1), 1.5,
		types.ArrayOfString{},
		types.ArrayOfString{String: []string{"ab", "c"}},
		types.ArrayOfString{String: []string{"a", "bc"}},
		types.GuestInfo{},
		types.GuestInfo{HostName: "a"},
		types.GuestInfo{IpAddress: "a"},
		types.GuestInfo{InteractiveGuestOperationsReady: new(false)},
	}
	for i, a := range values {
		for j, b := range values {
			// Zero numbers of different types may collide: a property has one type.
			if i != j && reflect.TypeOf(a) == reflect.TypeOf(b) && s.digest(a) == s.digest(b) {
				t.Errorf("%#v and %#v have one digest", a, b)
			}
		}
		if (a == nil) != (s.digest(a) == 0) {
			t.Errorf("%#v: digest %d", a, s.digest(a))
		}
		if again := s.digest(a); s.digest(a) != again {
			t.Errorf("%#v: digest is not stable", a)
		}
	}
}

// What export returns shares nothing with the object.
func TestExportIsACopy(t *testing.T) {
	s := newSchema()
	yes := true
	info := &types.GuestInfo{
		HostName:                        "a",
		InteractiveGuestOperationsReady: &yes,
		Net:                             []types.GuestNicInfo{{IpAddress: []string{"10.0.0.1"}}},
	}
	got := s.export(reflect.ValueOf(info)).(types.GuestInfo)
	before := s.digest(got)
	info.HostName, info.Net[0].IpAddress[0] = "b", "10.0.0.2"
	yes = false
	if s.digest(got) != before {
		t.Errorf("the copy changed with the object: %+v", got)
	}
}
