package cns_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// fleet is the VMs that there are, among all workers. vcsim shows a VM before it has been made, and changes lists of VMs that
// its own calls read: one at a time makes, ends or changes VMs.
type fleet struct {
	change sync.Mutex
	// alone is held during operations that vcsim does without a lock, so that nothing else runs; only under the race detector,
	// which would report them.
	alone sync.RWMutex

	mu  sync.Mutex
	vms []vc.Ref
}

func (f *fleet) any(rnd *rand.Rand) vc.Ref {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.vms) == 0 || rnd.IntN(25) == 0 {
		return vc.Ref{Type: "VirtualMachine", Value: "vm-none"}
	}
	return f.vms[rnd.IntN(len(f.vms))]
}

// replace puts a VM in the place of another.
func (f *fleet) replace(old, is vc.Ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.vms = append(slices.DeleteFunc(slices.Clone(f.vms), func(ref vc.Ref) bool { return ref == old }), is)
}

// all are the VMs.
func (f *fleet) all() []vc.Ref {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.vms)
}

// machine is a VM as the model looks at it.
type machine struct {
	there, suspended, disconnected bool
	reached                        bool // its host is connected
	slots                          int  // for volumes: 256, less the disks that are none
}

func (m *model) look(vm vc.Ref) (is machine) {
	obj, ok := m.s.ctx.Map.Get(vm).(*simulator.VirtualMachine)
	if !ok {
		return is
	}
	var host vc.Ref
	ctx := vc.Fresh(m.s.ctx)
	ctx.WithLock(obj, func() {
		host = *obj.Runtime.Host
		is = machine{
			there: true, suspended: obj.Runtime.PowerState == types.VirtualMachinePowerStateSuspended,
			disconnected: obj.Runtime.ConnectionState == types.VirtualMachineConnectionStateDisconnected,
			slots:        256,
		}
		for _, d := range obj.Config.Hardware.Device {
			if disk, ok := d.(*types.VirtualDisk); ok && disk.VDiskId == nil {
				is.slots-- // newVM makes VMs without a disk
			}
		}
	})
	h := ctx.Map.Get(host).(*simulator.HostSystem)
	ctx.WithLock(h, func() { is.reached = h.Runtime.ConnectionState == types.HostSystemConnectionStateConnected })
	return is
}

// changeable is how a change of the VM's disks ends.
func (m *model) changeable(vm vc.Ref) string {
	switch is := m.look(vm); {
	case is.disconnected:
		return cnsFault
	case is.suspended:
		return powerState
	}
	return none
}

// anyVM picks a VM, now and then one that is no more.
func (m *model) anyVM() vc.Ref { return m.fleet.any(m.rnd) }

// on counts the volumes on a VM.
func (m *model) on(vm vc.Ref) (n int) {
	for _, v := range m.volumes {
		if v.vm == vm {
			n++
		}
	}
	return n
}

// destroyVM ends a VM, as Destroy or as Unregister, and makes another one.
func (m *model) destroyVM(t testing.TB) (what, got, want string) {
	m.fleet.change.Lock()
	defer m.fleet.change.Unlock()
	ref := m.anyVM()
	vm := object.NewVirtualMachine(m.s.vim, ref)
	is := m.look(ref)
	if !is.there || is.disconnected {
		return "", none, none
	}
	ctx := t.Context()
	if task, err := vm.PowerOff(ctx); err == nil {
		_ = task.Wait(ctx) // it may be off
	}
	var err error
	if m.rnd.IntN(2) == 0 {
		err = vm.Unregister(ctx)
	} else {
		var task *object.Task
		if task, err = vm.Destroy(ctx); err == nil {
			err = task.Wait(ctx)
		}
	}
	if err != nil {
		return ref.Value, err.Error(), none
	}
	for _, v := range m.volumes {
		if v.vm == ref {
			v.vm = vc.Ref{}
		}
	}
	return ref.Value, m.newVM(t, ref), none
}

// newVM makes a VM in the place of one that is gone.
func (m *model) newVM(t testing.TB, old vc.Ref) string {
	ctx := t.Context()
	dc := m.s.ctx.Map.Any("Datacenter").(*simulator.Datacenter)
	pool := object.NewResourcePool(m.s.vim, m.s.ctx.Map.Any("ResourcePool").Reference())
	m.made++
	task, err := object.NewFolder(m.s.vim, dc.VmFolder).CreateVM(ctx, types.VirtualMachineConfigSpec{
		Name: fmt.Sprintf("vm-w%d-%d", m.worker, m.made), GuestId: "otherGuest", Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
	}, pool, nil)
	if err != nil {
		return err.Error()
	}
	info, err := task.WaitForResult(ctx)
	if err != nil {
		return err.Error()
	}
	m.fleet.replace(old, info.Result.(vc.Ref))
	return none
}

// power turns a VM on or off, or suspends it.
func (m *model) power(t testing.TB) (what, got, want string) {
	m.fleet.change.Lock()
	defer m.fleet.change.Unlock()
	ref, n := m.anyVM(), m.rnd.IntN(4)
	vm := object.NewVirtualMachine(m.s.vim, ref)
	do := vm.PowerOn
	switch n {
	case 0:
		do = vm.PowerOff
	case 1:
		do = vm.Suspend
	}
	if task, err := do(t.Context()); err == nil {
		_ = task.Wait(t.Context()) // it may be so already
	}
	return ref.Value, none, none
}

// host disconnects a host with its VMs, or connects all that are disconnected.
func (m *model) host(testing.TB) (what, got, want string) {
	ref := m.s.hosts[m.rnd.IntN(len(m.s.hosts))]
	if m.rnd.IntN(3) > 0 {
		for _, h := range m.s.hosts {
			m.connect(h, true)
		}
		return "all back", none, none
	}
	m.connect(ref, false)
	return ref.Value, none, none
}

func (m *model) connect(host vc.Ref, on bool) {
	ctx := vc.Fresh(m.s.ctx)
	hostState, vmState := types.HostSystemConnectionStateConnected, types.VirtualMachineConnectionStateConnected
	if !on {
		hostState, vmState = types.HostSystemConnectionStateDisconnected, types.VirtualMachineConnectionStateDisconnected
	}
	vc.Set(ctx, host, vc.P("runtime.connectionState", hostState))
	for _, ref := range m.fleet.all() {
		vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		ctx.WithLock(vm, func() {
			if vm.Runtime.Host != nil && *vm.Runtime.Host == host {
				ctx.Update(vm, []types.PropertyChange{vc.P("runtime.connectionState", vmState)})
			}
		})
	}
	m.reaching()
}

// datastore removes a datastore from all hosts, or restores all. It must not run concurrently: after the end of a VM vcsim reads
// datastores without a lock.
func (m *model) datastore(testing.TB) (what, got, want string) {
	if m.shared {
		return "", none, none
	}
	return m.mounts(), none, none
}

func (m *model) mounts() string {
	ref := m.s.datastores[m.rnd.IntN(len(m.s.datastores))]
	if m.rnd.IntN(3) > 0 {
		for _, ds := range m.s.datastores {
			m.mount(ds, true)
		}
		return "all back"
	}
	m.mount(ref, false)
	return ref.Value
}

func (m *model) mount(ref vc.Ref, on bool) {
	ctx := vc.Fresh(m.s.ctx)
	ds := ctx.Map.Get(ref).(*simulator.Datastore)
	ctx.WithLock(ds, func() {
		mounts := slices.Clone(ds.Host)
		for i := range mounts {
			mounts[i].MountInfo.Accessible = new(on)
		}
		ctx.Update(ds, []types.PropertyChange{vc.P("host", mounts)})
	})
	m.reaching()
}

// reaching records which datastores no host reaches.
func (m *model) reaching() {
	ctx := vc.Fresh(m.s.ctx)
	m.lost = map[vc.Ref]bool{}
	for _, ref := range m.s.datastores {
		ds := ctx.Map.Get(ref).(*simulator.Datastore)
		var mounts []types.DatastoreHostMount
		ctx.WithLock(ds, func() { mounts = slices.Clone(ds.Host) })
		m.lost[ref] = !slices.ContainsFunc(mounts, func(d types.DatastoreHostMount) bool {
			connected := false
			h := ctx.Map.Get(d.Key).(*simulator.HostSystem)
			ctx.WithLock(h, func() { connected = h.Runtime.ConnectionState == types.HostSystemConnectionStateConnected })
			return connected && (d.MountInfo.Accessible == nil || *d.MountInfo.Accessible)
		})
	}
}

// removeDevice takes a volume's disk off its VM without CNS.
func (m *model) removeDevice(t testing.TB) (what, got, want string) {
	m.fleet.change.Lock()
	defer m.fleet.change.Unlock()
	v := m.any()
	if v.vm == (vc.Ref{}) || m.changeable(v.vm) != none {
		return "", none, none
	}
	vm := object.NewVirtualMachine(m.s.vim, v.vm)
	devices, err := vm.Device(t.Context())
	if err != nil {
		return v.id, none, none // it is gone
	}
	for _, d := range devices.SelectByType((*types.VirtualDisk)(nil)) {
		if disk := d.(*types.VirtualDisk); disk.VDiskId != nil && disk.VDiskId.Id == v.id {
			if err := vm.RemoveDevice(t.Context(), true, d); err != nil {
				return v.id, none, none // another worker has removed it
			}
			v.vm = vc.Ref{}
		}
	}
	return v.id, none, none
}
