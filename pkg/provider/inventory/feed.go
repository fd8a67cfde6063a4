package inventory

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// The events after which tags are read at once. They are the only ones that a vCenter has of tags.
const (
	eventAttach = "com.vmware.cis.tagging.attach"
	eventDetach = "com.vmware.cis.tagging.detach"
)

// watched are the objects of a vCenter that the index follows, and with tags the events. ComputeResource stands for
// clusters too, ResourcePool for vApps.
func watched(tags bool) vcenter.WatchSpec {
	above := []string{"name", "parent"}
	spec := vcenter.WatchSpec{
		Properties: map[string][]string{
			"VirtualMachine":  vmProperties[:],
			"HostSystem":      above,
			"ComputeResource": above,
			"ResourcePool":    above,
			"Folder":          above,
			"Datacenter":      above,
		},
		Along: map[string][]string{encodingPath: {metadataPath}},
	}
	if tags {
		spec.Events = []string{eventAttach, eventDetach}
	}
	return spec
}

// feed carries a watch into the index of its vCenter.
type feed struct{ *source }

var _ vcenter.EventHandler = feed{}

// Update implements [vcenter.Handler].
func (f feed) Update(batch []vcenter.Update) {
	x := f.index
	x.writing.Lock()
	defer x.writing.Unlock()
	synced := f.inSync()
	d := x.take(batch, f.freshVMs(batch), synced)
	if synced && !d.empty() {
		f.changes.Tell(d)
	}
}

// freshVMs makes the VMs that the batch makes of those in the index; nil for those that left. This takes its time for
// many VMs, and nobody waits for it.
func (f feed) freshVMs(batch []vcenter.Update) map[types.ManagedObjectReference]*VM {
	fresh := make(map[types.ManagedObjectReference]*VM, len(batch))
	for _, u := range batch {
		if u.Ref.Type != "VirtualMachine" {
			continue
		}
		if u.Kind == vcenter.Leave {
			fresh[u.Ref] = nil
			continue
		}
		old, again := fresh[u.Ref]
		if !again {
			old = f.index.vms[u.Ref]
		}
		if old == nil && u.Kind == vcenter.Modify {
			continue // it left before its last change was told
		}
		vm := &VM{VCenter: f.client.Name(), Ref: u.Ref}
		switch {
		case old == nil:
			vm.Ref.Type = f.index.strings.text(vm.Ref.Type)
		case u.Kind == vcenter.Modify:
			*vm = *old
		default:
			vm.Ref, vm.UUID = old.Ref, old.UUID
		}
		vm.apply(u.Changes, &f.index.strings, f.static)
		fresh[vm.Ref] = vm
	}
	return fresh
}

// Synced implements [vcenter.Handler].
func (f feed) Synced() {
	x := f.index
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	x.placeAll()
	x.mu.Unlock()
	f.setSync(true, nil)
	f.changes.Tell(delta{everything: true})
}

// Lost implements [vcenter.Handler].
func (f feed) Lost(err error) {
	f.following.Store(false)
	had := f.inSync()
	f.setSync(false, err)
	if had {
		f.changes.Tell(delta{everything: true})
	}
}

// Following implements [vcenter.EventHandler].
func (f feed) Following(ok bool) { f.following.Store(ok) }

// Happened implements [vcenter.EventHandler].
func (f feed) Happened() { f.tagged.Tell(struct{}{}) }
