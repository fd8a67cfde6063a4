package sandbox

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// The log names the keys that changed, never a password.
func TestCredentialsChanged(t *testing.T) {
	data := func(kv ...string) map[string][]byte {
		m := map[string][]byte{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = []byte(kv[i+1])
		}
		return m
	}
	for _, tc := range []struct {
		name     string
		old, new map[string][]byte
		want     string
	}{
		{"nothing", data("a", "1"), data("a", "1"), ""},
		{"rotated", data("a.username", "u", "a.password", "secret"), data("a.username", "u", "a.password", "other"), "a.password changed"},
		{"others", data("a", "1", "b", "1"), data("b", "2", "c", "1"), "b changed, c added, a removed"},
		{"made anew", nil, data("a", "1"), "a added"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := idle(t)
			s.credentialsChanged(tc.old, tc.new)
			var want []event.Event
			if tc.want != "" {
				want = append(want, event.Event{
					Plane: event.PlaneKubernetes, Level: event.Info, Kind: "ccm.credentials-changed",
					Object: event.Object{Kind: "Secret", Name: cloudSecret}, Message: tc.want,
				})
			}
			requireEvents(t, s.log, 0, want...)
		})
	}
}
