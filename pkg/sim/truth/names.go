package truth

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// names tells watchers of what ReconfigVM_Task changes in a VM without vcsim's telling: its name, its UUIDs. vcsim
// announces no more than that the configuration was modified.
type names struct {
	ref vc.Ref

	mu  sync.Mutex
	vms map[vc.Ref]identity
}

type identity struct{ name, uuid, instanceUUID string }

func newNames(base *simulator.Context) *names {
	n := &names{ref: vc.Ref{Type: "SandboxNames", Value: "sandbox-names"}, vms: make(map[vc.Ref]identity)}
	for _, e := range base.Map.All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		vc.Fresh(base).WithLock(vm, func() { n.vms[vm.Self] = identityOf(&vm.VirtualMachine) })
	}
	return n
}

func identityOf(vm *mo.VirtualMachine) identity {
	i := identity{name: vm.Name}
	if vm.Config != nil {
		i.uuid, i.instanceUUID = vm.Config.Uuid, vm.Config.InstanceUuid
	}
	return i
}

// Reference implements simulator.RegisterObject.
func (n *names) Reference() vc.Ref { return n.ref }

// PutObject implements simulator.RegisterObject. A VM that is new has no name yet.
func (n *names) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject implements simulator.RegisterObject.
func (n *names) RemoveObject(_ *simulator.Context, ref vc.Ref) {
	if ref.Type != "VirtualMachine" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.vms, ref)
}

// UpdateObject implements simulator.RegisterObject: the VM's lock is held on behalf of ctx.
func (n *names) UpdateObject(ctx *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	vm, ok := obj.(*mo.VirtualMachine)
	if !ok || !modified(changes) {
		return
	}
	is := identityOf(vm)
	n.mu.Lock()
	was, known := n.vms[vm.Self]
	n.vms[vm.Self] = is
	n.mu.Unlock()
	if !known || was == is {
		return
	}
	var tell []types.PropertyChange
	if was.name != is.name {
		if whole, ok := ctx.Map.Get(vm.Self).(*simulator.VirtualMachine); ok && was.name != "" {
			vc.Post(ctx, &types.VmRenamedEvent{VmEvent: vmEvent(ctx, whole, ""), OldName: was.name, NewName: is.name})
		}
		tell = append(tell, vc.P("name", is.name), vc.P("config.name", is.name), vc.P("summary.config.name", is.name))
	}
	if was.uuid != is.uuid {
		tell = append(tell, vc.P("config.uuid", is.uuid), vc.P("summary.config.uuid", is.uuid))
	}
	if was.instanceUUID != is.instanceUUID {
		tell = append(tell, vc.P("config.instanceUuid", is.instanceUUID), vc.P("summary.config.instanceUuid", is.instanceUUID))
	}
	ctx.Update(vm, tell)
}

// modified tells whether a change may have come with another name or UUID.
func modified(changes []types.PropertyChange) bool {
	for _, c := range changes {
		if c.Name == "config.modified" || c.Name == "name" {
			return true
		}
	}
	return false
}
