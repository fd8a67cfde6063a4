package guest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// kept is the configuration of a removed VM, and the contents of its disk.
type kept struct {
	config types.VirtualMachineConfigInfo
	layout *types.VirtualMachineFileLayout
	files  *types.VirtualMachineFileLayoutEx
	// Summaries that clients read instead of the configuration.
	summary types.VirtualMachineConfigSummary
	values  []types.BaseCustomFieldValue
	info    Info
	guest   types.GuestInfo
	// The host's limits for it.
	cpu, memory int32
}

// SaveVM stores the VM under a name: its configuration, its custom values and its guest. It does not include first-class disks
// (volumes).
func (g *Guests) SaveVM(vm types.ManagedObjectReference, name string) error {
	var failed error
	err := g.with(vm, func(_ *simulator.Context, _ *vmState, obj *mo.VirtualMachine) {
		if failed = g.keep(obj, name); failed == nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.kept[name].dropVolumes()
		}
	})
	if err != nil {
		return err
	}
	return failed
}

// HasSavedVM reports whether a VM is stored under that name.
func (g *Guests) HasSavedVM(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.kept[name] != nil
}

// DeleteSavedVM drops what Keep stored.
func (g *Guests) DeleteSavedVM(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.kept, name)
}

// RestoreVM makes a VM equal to the one that is stored under that name, except for its place (name, folder, pool, host, files). It
// gets the stored BIOS and instance UUIDs, unless others are given.
func (g *Guests) RestoreVM(vm types.ManagedObjectReference, name, uuid, instance string) error {
	g.writing.Lock()
	defer g.writing.Unlock()
	return g.resemble(vm, name, uuid, instance)
}

func (g *Guests) resemble(vm vc.Ref, name, uuid, instance string) error {
	g.mu.Lock()
	k := g.kept[name]
	g.mu.Unlock()
	if k == nil {
		return fmt.Errorf("vm %s: nothing is kept as %q", vm.Value, name)
	}
	var failed error
	err := g.with(vm, func(ctx *simulator.Context, _ *vmState, obj *mo.VirtualMachine) {
		failed = k.put(ctx, obj, uuid, instance)
	})
	if err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return g.SetGuest(vm, k.info)
}

// keep stores a VM whose lock is held.
func (g *Guests) keep(vm *mo.VirtualMachine, name string) error {
	k := &kept{cpu: vm.Runtime.MaxCpuUsage, memory: vm.Runtime.MaxMemoryUsage}
	for _, c := range []struct{ from, to any }{
		{vm.Config, &k.config},
		{vm.Summary.Config, &k.summary},
		{vm.Layout, &k.layout},
		{vm.LayoutEx, &k.files},
		{vm.Guest, &k.guest},
	} {
		if err := copied(c.from, c.to); err != nil {
			return fmt.Errorf("vm %s: %w", vm.Name, err)
		}
	}
	k.values = append(k.values, vm.CustomValue...) // replaced, never changed
	if m := g.find(vm.Self); m != nil {
		g.learn(m, vm)
		k.info = m.info
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kept[name] = k
	return nil
}

// dropVolumes removes first-class disks.
func (k *kept) dropVolumes() {
	var gone []int32
	k.config.Hardware.Device = slices.DeleteFunc(k.config.Hardware.Device, func(d types.BaseVirtualDevice) bool {
		disk, ok := d.(*types.VirtualDisk)
		if ok = ok && disk.VDiskId != nil; ok {
			gone = append(gone, disk.Key)
		}
		return ok
	})
	k.summary.NumVirtualDisks -= int32(len(gone))
	for _, d := range k.config.Hardware.Device {
		if c, ok := d.(types.BaseVirtualController); ok {
			c.GetVirtualController().Device = slices.DeleteFunc(c.GetVirtualController().Device, func(key int32) bool { return slices.Contains(gone, key) })
		}
	}
}

// put applies a stored VM to a VM whose lock is held.
func (k *kept) put(ctx *simulator.Context, vm *mo.VirtualMachine, uuid, instance string) error {
	var config types.VirtualMachineConfigInfo
	var layout *types.VirtualMachineFileLayout
	var laid *types.VirtualMachineFileLayoutEx
	for _, c := range []struct{ from, to any }{{&k.config, &config}, {k.layout, &layout}, {k.files, &laid}} {
		if err := copied(c.from, c.to); err != nil {
			return err
		}
	}
	summary, files := k.summary, vm.Config.Files
	if uuid != "" {
		config.Uuid, summary.Uuid = uuid, uuid
	}
	if instance != "" {
		config.InstanceUuid, summary.InstanceUuid = instance, instance
	}
	config.Name, summary.Name = vm.Name, vm.Name
	config.Template, summary.Template = vm.Config.Template, vm.Config.Template
	config.Files, summary.VmPathName = files, files.VmPathName
	config.Modified, config.ChangeVersion = vm.Config.Modified, vm.Config.ChangeVersion
	var networks []vc.Ref
	for _, d := range config.Hardware.Device {
		if ref, ok := vc.NetworkOf(d); ok {
			networks = append(networks, ref)
		}
	}
	vm.Layout = layout
	changes := []types.PropertyChange{
		vc.P("config", &config), vc.P("summary.config", summary), vc.P("network", networks), vc.P("layoutEx", laid),
		vc.P("runtime.maxCpuUsage", k.cpu), vc.P("runtime.maxMemoryUsage", k.memory),
		vc.P("summary.runtime.maxCpuUsage", k.cpu), vc.P("summary.runtime.maxMemoryUsage", k.memory),
	}
	if len(k.values) > 0 {
		changes = append(changes, vc.P("customValue", slices.Clone(k.values)), vc.P("value", slices.Clone(k.values)))
	}
	ctx.Update(vm, append(changes, k.idle()...))
	return nil
}

// idle returns the properties of the guest while it does not run.
func (k *kept) idle() []types.PropertyChange {
	g := k.guest
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return append(down(),
		vc.P("guest.guestId", text(g.GuestId)), vc.P("guest.guestFamily", text(g.GuestFamily)), vc.P("guest.guestFullName", text(g.GuestFullName)),
		vc.P("guest.toolsVersion", text(g.ToolsVersion)), vc.P("guest.toolsInstallType", text(g.ToolsInstallType)),
		vc.P("guest.toolsVersionStatus2", text(g.ToolsVersionStatus2)),
		vc.P("summary.guest.guestId", text(k.config.GuestId)), vc.P("summary.guest.guestFullName", text(g.GuestFullName)),
		vc.P("summary.guest.toolsVersionStatus2", text(g.ToolsVersionStatus2)),
		vc.P("guest.guestOperationsReady", k.ready()),
		vc.P("guest.toolsStatus", k.tools()), vc.P("summary.guest.toolsStatus", k.tools()))
}

// ready is empty for a VM that never had tools.
func (k *kept) ready() any {
	if k.guest.GuestOperationsReady == nil {
		return nil
	}
	return false
}

// tools reports whether there are any.
func (k *kept) tools() types.VirtualMachineToolsStatus {
	if k.info.installed() {
		return types.VirtualMachineToolsStatusToolsNotRunning
	}
	return k.guest.ToolsStatus
}

// copied makes a deep copy of a value of the API.
func copied(from, to any) error {
	var b bytes.Buffer
	if err := types.NewJSONEncoder(&b).Encode(from); err != nil {
		return err
	}
	return types.NewJSONDecoder(&b).Decode(to)
}

// vmxOf identifies the VM's configuration file in its datacenter.
func vmxOf(ctx *simulator.Context, vm *mo.VirtualMachine) string {
	dc, _ := vc.Datacenter(ctx.Map, vm.Self)
	return dc.Value + " " + vm.Config.Files.VmPathName
}

// RegisterVMTask restores the configuration of a VM that was unregistered. In vcsim the file is empty: the VM returns with one
// CPU and no disk, and with another UUID.
func (g *Guests) RegisterVMTask(ctx *simulator.Context, req *types.RegisterVM_Task) soap.HasFault {
	folder, ok := ctx.Map.Get(req.This).(*simulator.Folder)
	if !ok {
		return &methods.RegisterVM_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	dc, _ := vc.Datacenter(ctx.Map, req.This)
	file := dc.Value + " " + req.Path
	if !g.HasSavedVM(file) {
		var body soap.HasFault
		ctx.WithLock(folder, func() { body = folder.RegisterVMTask(ctx, req) })
		return body
	}
	task := simulator.CreateTask(folder, "registerVm", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		g.writing.Lock()
		defer g.writing.Unlock()
		fresh := vc.Fresh(ctx)
		var answer soap.HasFault
		fresh.WithLock(folder, func() { answer = folder.RegisterVMTask(fresh, req) })
		body, ok := answer.(*methods.RegisterVM_TaskBody)
		if !ok || body.Res == nil {
			return nil, new(types.InvalidRequest)
		}
		made, fault := vc.Await(ctx, body.Res.Returnval)
		if fault != nil {
			return nil, fault
		}
		if err := g.resemble(made.(vc.Ref), file, "", ""); err != nil {
			return nil, &types.InvalidVmConfig{Property: "configSpec"}
		}
		g.DeleteSavedVM(file)
		return made, nil
	})
	return &methods.RegisterVM_TaskBody{Res: &types.RegisterVM_TaskResponse{Returnval: vc.Run(ctx, task)}}
}
