package inventory

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// Zone is where a VM runs, by the tags above it.
type Zone struct {
	Region, Zone string
}

// MissingTagError says that a VM has no region, no zone, or neither.
type MissingTagError struct {
	VM *VM
	// Categories are those of which no tag was found, Found is what the best of the walks did find.
	Categories []string
	Found      Zone
	// Walked names the objects looked at, from the host upward.
	Walked []string
	// Err is why the tags may not be the latest; nil when they are.
	Err error
}

// Error names the categories and everything that was looked at.
func (e *MissingTagError) Error() string {
	msg := fmt.Sprintf("vm %s: no tag of category %s on any of %s",
		e.VM, strings.Join(e.Categories, " or "), strings.Join(e.Walked, ", "))
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

// Unwrap returns Err.
func (e *MissingTagError) Unwrap() error { return e.Err }

// Zone returns the region and zone of vm: for each, the tag on the nearest object, from the VM's host over its cluster,
// folders and datacenter up to the root. When that walk does not find both, the one from the VM's resource pool, and
// then the one from its folder, may; results of different walks are not mixed, as upstream's are not. Without both
// categories configured the zone is empty. A miss is a [MissingTagError] and has the tags read again soon.
func (inv *Inventory) Zone(vm *VM) (Zone, error) {
	if !inv.cfg.Categories.enabled() {
		return Zone{}, nil
	}
	m := inv.member(vm.VCenter)
	if m == nil {
		return Zone{}, fmt.Errorf("vm %s: unknown vcenter", vm)
	}
	region, zone, err := m.tags.snapshot()
	miss := &MissingTagError{VM: vm, Err: err}
	seen := map[types.ManagedObjectReference]bool{}
	for _, start := range []types.ManagedObjectReference{vm.Host, vm.ResourcePool, vm.Ref} {
		chain := m.index.above(start)
		if start == vm.Ref {
			chain = append(chain, m.index.above(vm.Parent)...)
		}
		var found Zone
		for _, ref := range chain {
			if names := region[ref]; found.Region == "" && len(names) > 0 {
				found.Region = names[0]
			}
			if names := zone[ref]; found.Zone == "" && len(names) > 0 {
				found.Zone = names[0]
			}
			if found.Region != "" && found.Zone != "" {
				return found, nil
			}
			if !seen[ref] {
				seen[ref] = true
				miss.Walked = append(miss.Walked, fmt.Sprintf("%s %q", ref.Type, m.index.name(ref)))
			}
		}
		if miss.Found == (Zone{}) {
			miss.Found = found
		}
	}
	if miss.Found.Region == "" {
		miss.Categories = append(miss.Categories, fmt.Sprintf("%q", inv.cfg.Categories.Region))
	}
	if miss.Found.Zone == "" {
		miss.Categories = append(miss.Categories, fmt.Sprintf("%q", inv.cfg.Categories.Zone))
	}
	m.tags.missed()
	return Zone{}, miss
}
