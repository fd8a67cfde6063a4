package topology

import "testing"

func TestNearest(t *testing.T) {
	keys := []string{"name", "replicas", "cpus", "memory", "hosts", "host", "vms", "vcenters", "datacenters", "datastores"}
	for name, want := range map[string]string{
		"nmae": "name", "Name": "name", "replica": "replicas", "cpu": "cpus", "mem": "", "vm": "vms", "hots": "hosts",
		"hostss": "hosts", "datacentre": "datacenters", "datacentres": "datacenters", "x": "", "": "", "zzzz": "",
		"completely-different": "",
	} {
		if got := nearest(name, keys); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for pattern, want := range map[string]string{
		"a-{n}": "a-7", "a-{nn}": "a-07", "{nnn}{n}": "0077", "{n": "{n", "{nx}": "{nx}", "a": "a", "{{n}}": "{7}",
		"{n{n}": "{n7", "{nnnnnnnnnn}": "{nnnnnnnnnn}", "": "",
	} {
		if got, _ := number(pattern, 7); got != want {
			t.Errorf("number(%q, 7) = %q, want %q", pattern, got, want)
		}
	}
}
