package inventory

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// step is what became of one VM; before is nil for one that came, after for one that left.
type step struct{ before, after *VM }

// delta is what a batch of updates did to an index.
type delta struct {
	steps      []step
	everything bool
}

func (d delta) empty() bool { return len(d.steps) == 0 && !d.everything }

// take makes a batch the truth, the VMs in it as they were made of it, all at one moment. Before the index is in sync
// nobody can rely on it, and nothing is found out about what changed.
func (x *index) take(batch []vcenter.Update, fresh map[types.ManagedObjectReference]*VM, synced bool) (d delta) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, u := range batch {
		if u.Ref.Type != "VirtualMachine" && x.updateEntity(u, synced && !d.everything) {
			d.everything = true
		}
	}
	for _, u := range batch {
		vm, told := fresh[u.Ref]
		if !told {
			continue
		}
		delete(fresh, u.Ref)
		old := x.vms[u.Ref]
		if vm == nil {
			x.leave(u.Ref)
			if old != nil {
				d.steps = append(d.steps, step{before: old})
			}
			continue
		}
		if old != nil && sameVM(old, vm) && old.encoding == vm.encoding {
			continue
		}
		if synced {
			vm.dc = x.placeOf(vm)
		}
		x.put(vm)
		if old == nil || !sameVM(old, vm) {
			d.steps = append(d.steps, step{old, vm})
		}
	}
	if d.everything {
		x.placeAll()
	}
	return d
}
