package inventory

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

func TestPrefix(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"198.18.0.1/16", "198.18.0.1/16"},
		{"198.18.0.1", "198.18.0.1/24"},
		{"2001:db8::1/56", "2001:db8::1/56"},
		{"2001:db8::1", "2001:db8::1/64"},
		{"300.1.1.1", ""},
		{"198.18.0.1/40", ""},
		{"", ""},
	} {
		p, err := prefix(tc.text)
		if got := p.String(); (err != nil) != (tc.want == "") || (err == nil && got != tc.want) {
			t.Errorf("%q: %s, %v; want %q", tc.text, got, err, tc.want)
		}
	}
}

func TestHome(t *testing.T) {
	dc := &datacenter{taken: make(map[home]bool)}
	for _, tc := range []struct{ datastore, name, want string }{
		{"ds", "web", "web"},
		{"ds", "web", "web_1"},
		{"ds", "web_1", "web_1_1"},
		{"other", "web", "web"},
		{"ds", "a/b", "a%2fb"},
		{"ds", "..", "%2e%2e"},
	} {
		if got := dc.home(&topology.VM{Name: tc.name, Datastore: tc.datastore}, false, nil).dir; got != tc.want {
			t.Errorf("%s on %s: %q, want %q", tc.name, tc.datastore, got, tc.want)
		}
	}
}
