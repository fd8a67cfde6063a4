package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// duplicates looks for what several VMs have, in whatever vCenter: they join one cluster.
func duplicates(vms []inventory.VM) []Finding {
	if len(vms) == 0 {
		return nil
	}
	l := new(list)
	for _, kind := range []struct {
		id, noun, why, try string
		of                 func(inventory.VM) string
	}{
		{
			"uuid-duplicate", "BIOS UUID", "the cloud provider takes one VM for another", "power off the copy and give it a UUID of its own (govc vm.change -uuid …)",
			func(vm inventory.VM) string { return vm.UUID },
		},
		{
			"hostname-duplicate", "hostname", "nodes are called by it, and only one can be", "give the guests names of their own",
			func(vm inventory.VM) string { return strings.ToLower(vm.Hostname) },
		},
	} {
		by := map[string][]string{}
		for _, vm := range vms {
			if value := kind.of(vm); value != "" && !vm.Template {
				by[value] = append(by[value], vm.VCenter+":"+vm.Path)
			}
		}
		found := false
		for _, value := range slices.Sorted(maps.Keys(by)) {
			if len(by[value]) > 1 {
				found = true
				l.add(Error, kind.id, fmt.Sprintf("%s %s is that of %s", kind.noun, value, shorten.List(by[value], shown)), kind.why, kind.try)
			}
		}
		if !found {
			l.ok(kind.id, "no two VMs have one %s", kind.noun)
		}
	}
	return l.all
}
