package nearest

import (
	"flag"
	"strings"
	"testing"
)

// The packages below internal/cli are all run with this flag to rewrite golden files. This one has none.
var _ = flag.Bool("update", false, "rewrite golden files")

func TestOf(t *testing.T) {
	verbs := []string{"status", "suspend", "power-on", "power-off", "kubectl", "list"}
	for _, tc := range []struct{ name, want string }{
		{"stauts", "status"},
		{"STATUS", "status"},
		{"poweron", "power-on"},
		{"power-of", "power-off"},
		{"kubeclt", "kubectl"},
		{"kube", "kubectl"},
		{"l", ""},
		{"lst", "list"},
		{"xyzzy", ""},
		{"", ""},
		{"s", ""},
		{"power_off", "power-off"},
		{"PowerOff", "power-off"},
		{"--", ""},
		{strings.Repeat("a", 100), ""},
	} {
		if got := Of(tc.name, verbs); got != tc.want {
			t.Errorf("Of(%q) = %q, want %q", tc.name, got, tc.want)
		}
	}
}

// Keys of a topology, and singular beside plural.
func TestOfKeys(t *testing.T) {
	keys := []string{"name", "replicas", "cpus", "memory", "hosts", "host", "vms", "vcenters", "datacenters", "datastores", "größe"}
	for name, want := range map[string]string{
		"nmae": "name", "Name": "name", "replica": "replicas", "cpu": "cpus", "mem": "memory", "vm": "vms", "hots": "hosts",
		"hostss": "hosts", "datacentre": "datacenters", "datacentres": "datacenters", "x": "", "zzzz": "", "groesse": "", "grösse": "größe",
		"completely-different": "",
	} {
		if got := Of(name, keys); got != want {
			t.Errorf("Of(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestOfDoesNotGuessBetweenTwoBeginnings(t *testing.T) {
	if got := Of("work", []string{"worker-eu-1", "worker-us-1"}); got != "" {
		t.Errorf("got %q", got)
	}
	if got := Of("wörker", []string{"worker"}); got != "worker" {
		t.Errorf("got %q", got)
	}
}
