package corrections

import (
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// RenameTask refuses a name that is in use with DuplicateName; vcsim returns an invalid argument.
func (c *Corrections) RenameTask(ctx *simulator.Context, req *types.Rename_Task) soap.HasFault {
	body := new(methods.Rename_TaskBody)
	obj := ctx.Map.Get(req.This)
	renamer, ok := obj.(interface {
		RenameTask(*simulator.Context, *types.Rename_Task) soap.HasFault
	})
	if !ok {
		body.Fault_ = simulator.Fault("", &types.NotSupported{})
		return body
	}
	other, taken := sibling(ctx, obj, req.NewName)
	if !taken {
		was := c.Name(req.This)
		body := renamer.RenameTask(ctx, req)
		if obj.Reference().Type == "Datacenter" && was != req.NewName {
			postDatacenterRenamed(vc.Fresh(ctx), req.This, was, req.NewName)
		}
		return body
	}
	task := simulator.CreateTask(obj, "rename", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		return nil, &types.DuplicateName{Name: req.NewName, Object: other}
	})
	body.Res = &types.Rename_TaskResponse{Returnval: task.Run(ctx)}
	return body
}

// sibling returns the object with that name in the folder of obj. vcsim checks again, with a less specific fault, in case of a
// race.
func sibling(ctx *simulator.Context, obj mo.Reference, name string) (vc.Ref, bool) {
	e, ok := obj.(mo.Entity)
	if !ok || e.Entity().Parent == nil {
		return vc.Ref{}, false
	}
	folder, ok := ctx.Map.Get(*e.Entity().Parent).(*simulator.Folder)
	if !ok {
		return vc.Ref{}, false
	}
	var children []vc.Ref
	ctx.WithLock(folder, func() { children = append(children, folder.ChildEntity...) })
	other := ctx.Map.FindByName(name, children)
	if other == nil || other.Reference() == obj.Reference() {
		return vc.Ref{}, false
	}
	return other.Reference(), true
}

// checkTaken refuses a new VM with the name of another object in its folder. vcsim creates it beside the other one.
func (c *Corrections) checkTaken(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	var name string
	var ref vc.Ref
	switch req := method.Body.(type) {
	case *types.CreateVM_Task:
		name, ref = req.Config.Name, req.This
	case *types.ImportVApp:
		spec, ok := req.Spec.(*types.VirtualMachineImportSpec)
		if !ok || req.Folder == nil {
			return nil
		}
		name, ref = spec.ConfigSpec.Name, *req.Folder
	}
	if name = escaped(name); name == "" || !c.labels.has(name) {
		return nil
	}
	folder, ok := ctx.Map.Get(ref).(*simulator.Folder)
	if !ok {
		return nil
	}
	var children []vc.Ref
	ctx.WithLock(folder, func() { children = slices.Clone(folder.ChildEntity) })
	for _, child := range children {
		if c.Name(child) == name {
			return &types.DuplicateName{Name: name, Object: child}
		}
	}
	return nil
}

func postDatacenterRenamed(ctx *simulator.Context, ref vc.Ref, was, is string) {
	vc.Post(ctx, &types.DatacenterRenamedEvent{
		DatacenterEvent: types.DatacenterEvent{Event: types.Event{Datacenter: &types.DatacenterEventArgument{
			EntityEventArgument: vc.Named(is), Datacenter: ref,
		}}},
		OldName: was, NewName: is,
	})
}

// names reports what ReconfigVM_Task changes without an update from vcsim: the VM's name and UUIDs. vcsim only reports that the
// configuration was modified.
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

// PutObject implements simulator.RegisterObject. A new VM has no name yet.
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

// UpdateObject implements simulator.RegisterObject: ctx holds the VM's lock.
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
	var report []types.PropertyChange
	if was.name != is.name {
		if whole, ok := ctx.Map.Get(vm.Self).(*simulator.VirtualMachine); ok && was.name != "" {
			vc.Post(ctx, &types.VmRenamedEvent{VmEvent: vc.VMEvent(ctx, whole, ""), OldName: was.name, NewName: is.name})
		}
		report = append(report, vc.P("name", is.name), vc.P("config.name", is.name), vc.P("summary.config.name", is.name))
	}
	if was.uuid != is.uuid {
		report = append(report, vc.P("config.uuid", is.uuid), vc.P("summary.config.uuid", is.uuid))
	}
	if was.instanceUUID != is.instanceUUID {
		report = append(report, vc.P("config.instanceUuid", is.instanceUUID), vc.P("summary.config.instanceUuid", is.instanceUUID))
	}
	ctx.Update(vm, report)
}

// modified reports whether a change may include another name or UUID.
func modified(changes []types.PropertyChange) bool {
	for _, c := range changes {
		if c.Name == "config.modified" || c.Name == "name" {
			return true
		}
	}
	return false
}

// labels are the names of all entities, readable without their locks: a task locks its object until its end.
type labels struct {
	ref   vc.Ref
	names sync.Map // vc.Ref → string

	mu    sync.Mutex
	times map[string]int // how many entities have a name
}

func newLabels(base *simulator.Context) *labels {
	l := &labels{ref: vc.Ref{Type: "SandboxLabels", Value: "sandbox-labels"}, times: map[string]int{}}
	for _, e := range base.Map.All("") {
		vc.Fresh(base).WithLock(e, func() { l.set(e.Reference(), e.Entity().Name) })
	}
	return l
}

func (l *labels) set(ref vc.Ref, name string) {
	was, known := l.names.Swap(ref, name)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times[name]++
	if known {
		l.less(was)
	}
}

// less counts one entity less with a name. The caller holds the lock.
func (l *labels) less(was any) {
	name, _ := was.(string)
	if l.times[name]--; l.times[name] <= 0 {
		delete(l.times, name)
	}
}

// has reports whether an entity has that name.
func (l *labels) has(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.times[name] > 0
}

// Name returns the name of an entity, "" if it does not exist. It never blocks.
func (c *Corrections) Name(ref vc.Ref) string {
	name, _ := c.labels.names.Load(ref)
	text, _ := name.(string)
	return text
}

// Reference implements simulator.RegisterObject.
func (l *labels) Reference() vc.Ref { return l.ref }

// PutObject implements simulator.RegisterObject: the object is locked, or not shared yet.
func (l *labels) PutObject(_ *simulator.Context, obj mo.Reference) {
	if e, ok := obj.(mo.Entity); ok {
		l.set(obj.Reference(), e.Entity().Name)
	}
}

// UpdateObject implements simulator.RegisterObject.
func (l *labels) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	for _, c := range changes {
		if name, ok := c.Val.(string); ok && c.Name == "name" {
			l.set(obj.Reference(), name)
		}
	}
}

// RemoveObject implements simulator.RegisterObject.
func (l *labels) RemoveObject(_ *simulator.Context, ref vc.Ref) {
	was, known := l.names.LoadAndDelete(ref)
	if !known {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.less(was)
}
