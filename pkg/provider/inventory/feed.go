package inventory

import (
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// watched are the objects of a vCenter that the index follows. ComputeResource stands for clusters too, ResourcePool
// for vApps.
func watched() vcenter.WatchSpec {
	above := []string{"name", "parent"}
	return vcenter.WatchSpec{Properties: map[string][]string{
		"VirtualMachine":  vmProperties[:],
		"HostSystem":      above,
		"ComputeResource": above,
		"ResourcePool":    above,
		"Folder":          above,
		"Datacenter":      above,
	}}
}

// feed carries a watch into the index of its vCenter.
type feed struct{ *member }

// Update implements [vcenter.Handler].
func (f feed) Update(batch []vcenter.Update) {
	x := f.index
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, u := range batch {
		if u.Ref.Type == "VirtualMachine" {
			f.updateVM(u)
		} else {
			f.updateEntity(u)
		}
	}
}

func (f feed) updateVM(u vcenter.Update) {
	old := f.index.vms[u.Ref]
	switch {
	case u.Kind == vcenter.Leave:
		f.index.leave(u.Ref)
		return
	case old == nil && u.Kind == vcenter.Modify:
		return // it left before its last change was told
	}
	vm := &VM{VCenter: f.client.Name(), Ref: u.Ref}
	if old != nil {
		if u.Kind == vcenter.Modify {
			*vm = *old
		} else {
			vm.UUID = old.UUID
		}
	}
	if slices.Contains(u.Missing, "summary.config.uuid") {
		vm.uuidHidden = true
	}
	vm.apply(u.Changes)
	f.index.put(vm)
}

func (f feed) updateEntity(u vcenter.Update) {
	if u.Kind == vcenter.Leave {
		delete(f.index.entities, u.Ref)
		return
	}
	var e entity
	if u.Kind == vcenter.Modify {
		e = f.index.entities[u.Ref]
	}
	for _, c := range u.Changes {
		switch c.Name {
		case "name":
			e.name, _ = c.Val.(string)
		case "parent":
			e.parent, _ = c.Val.(types.ManagedObjectReference)
		}
	}
	f.index.entities[u.Ref] = e
}

// Synced implements [vcenter.Handler].
func (f feed) Synced() { f.setSync(true, nil) }

// Lost implements [vcenter.Handler].
func (f feed) Lost(err error) { f.setSync(false, err) }
