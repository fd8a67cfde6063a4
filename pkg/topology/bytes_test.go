package topology_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

func TestBytes(t *testing.T) {
	tests := []struct {
		in   string
		want topology.Bytes
		text string // empty: the same as in
	}{
		{"0", 0, ""},
		{"1", 1, ""},
		{"1023", 1023, ""},
		{"1024", 1024, "1Ki"},
		{"4Gi", 4 * topology.Gi, ""},
		{"0.5Gi", 512 * topology.Mi, "512Mi"},
		{"1536Mi", 1536 * topology.Mi, ""},
		{"2048Mi", 2 * topology.Gi, "2Gi"},
		{"4G", 4_000_000_000, "3906250Ki"},
		{"1k", 1000, "1000"},
		{"1e3", 1000, "1000"},
		{"2E3", 2000, "2000"},
		{"1E", 1_000_000_000_000_000_000, "976562500000000Ki"},
		{"7Ei", 7 << 60, ""},
		{"+1Ki", 1024, "1Ki"},
		{"-1Ki", -1024, "-1Ki"},
		{".5Ki", 512, "512"},
		{"1.Ki", 1024, "1Ki"},
		{"9223372036854775807", 9223372036854775807, ""},
	}
	for _, test := range tests {
		got, err := topology.ParseBytes(test.in)
		if err != nil || got != test.want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", test.in, int64(got), err, int64(test.want))
			continue
		}
		text := test.text
		if text == "" {
			text = test.in
		}
		if got.String() != text {
			t.Errorf("Bytes(%d).String() = %q, want %q", int64(got), got.String(), text)
		}
		if quantity, err := resource.ParseQuantity(test.in); err != nil || quantity.Value() != int64(got) {
			t.Errorf("Kubernetes takes %q for %v (%v), we for %d", test.in, quantity.Value(), err, int64(got))
		}
	}
}

func TestBytesRefused(t *testing.T) {
	for _, in := range []string{
		"", " ", "Gi", ".", "1 Gi", "1GB", "1gi", "1K", "1m", "0.3", "1.5.5", "--1", "+-1", "1e", "1e99999", "1e+", "1/2",
		"0x10", "8Ei", "9223372036854775808", "1e19", "½", "1_000", "inf", "1Ki ",
		"11111111111111111111111111111111111111111111",
	} {
		if got, err := topology.ParseBytes(in); err == nil {
			t.Errorf("ParseBytes(%q) = %d, want an error", in, int64(got))
		}
	}
}

func TestBytesMiB(t *testing.T) {
	for in, want := range map[topology.Bytes]int32{4 * topology.Gi: 4096, topology.Mi - 1: 0, 1 << 62: 1<<31 - 1} {
		if got := in.MiB(); got != want {
			t.Errorf("%v.MiB() = %d, want %d", in, got, want)
		}
	}
}

func TestBytesJSON(t *testing.T) {
	text, err := json.Marshal(topology.Datastore{Name: "ds", Capacity: topology.Ti})
	if err != nil || string(text) != `{"name":"ds","capacity":"1Ti"}` {
		t.Fatalf("got %s, %v", text, err)
	}
	var back topology.Datastore
	if err := json.Unmarshal(text, &back); err != nil || back.Capacity != topology.Ti {
		t.Errorf("read back as %v, %v", back.Capacity, err)
	}
}
