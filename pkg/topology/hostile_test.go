package topology_test

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Small files that ask for much, and large ones that say little, are refused before they cost memory or minutes. Each
// would run the test into its time limit if it were not.
func TestLoadHostile(t *testing.T) {
	filler := func(s string) string { return strings.Repeat(s, (topology.MaxSize-1000)/len(s)) }
	vm := func(vm string) string {
		return header + "    - {name: v, datacenters: [{name: d, hosts: [{name: e}], vms: [{replicas: 50000, " + vm + "}]}]}\n"
	}
	tests := map[string]struct{ file, want string }{
		"nesting":     {filler("["), "exceeded max depth"},
		"long name":   {vm("name: " + filler("a")), "vms[0].name: must be at most 1024 bytes long"},
		"long folder": {vm("name: a, folder: " + filler("a/")), "vms[0].folder: must be at most 1024 bytes long"},
		"nics":        {vm("name: a, nics: [" + strings.Repeat("{},", 10_000) + "]"), "vms[0].nics: are 10000, more than the 10 a VM can have"},
		"addresses": {
			vm("name: a, nics: [{addresses: [" + strings.Repeat("10.0.0.1,", 10_000) + "]}]"),
			"nics[0].addresses: are 10000, more than the 32 a NIC can have",
		},
		"empty items": {header + "    - {name: v, datacenters: [" + strings.Repeat("{},", 300_000) + "]}\n", "more than the 250000 list items"},
		"vcenters":    {header + strings.Repeat("    - {name: v}\n", 1000), "spec.vcenters[200]: makes more than the 200 vCenters"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := topology.Load("hostile.yaml", []byte(test.file))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant something with %q", err, test.want)
			}
		})
	}
}
