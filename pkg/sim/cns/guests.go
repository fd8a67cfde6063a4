package cns

import (
	"context"
	"fmt"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Guests shows disks to what runs in VMs, where that is something that has block devices. A hypervisor does so before a task that
// attaches a disk succeeds, so that a guest need not wait for it.
//
// Calls about one disk are made one at a time, those about several side by side. The context ends with the simulator. A VM that
// is nobody's guest is no error. Methods must not call the simulator.
type Guests interface {
	// Plug has the guest see a disk of its VM, powered on or not. Its error ends the attachment, with its words.
	Plug(ctx context.Context, vm types.ManagedObjectReference, d GuestDisk) error
	// Unplug takes a disk away, whatever the guest does with it. The VM may be gone by then. Its error is only told: the VM
	// does not have the disk any more.
	Unplug(ctx context.Context, vm types.ManagedObjectReference, d GuestDisk) error
	// Resize has the guest see that its disk has become larger. Its error ends the extension.
	Resize(ctx context.Context, vm types.ManagedObjectReference, d GuestDisk) error
	// Flush is called before a disk is copied: what the guest has written is to be in the copy. Its error ends that.
	Flush(ctx context.Context, vm types.ManagedObjectReference, d GuestDisk) error
}

// Keeper is what [Guests] may be, too: those whose guests write to the directories of contents themselves, so that there are
// files which this process may neither read nor remove. Both are as the functions of package csi/disk.
type Keeper interface {
	Copy(ctx context.Context, from, to string) error
	Remove(ctx context.Context, dir string) error
}

// GuestDisk is a disk of a VM that is a volume's, or could be one.
type GuestDisk struct {
	// Volume is the first class disk's id, UUID that of its backing.
	Volume, UUID string
	// Bytes is its size, 0 when it is not known any more.
	Bytes int64
}

// shown is which guest sees which disk.
type shown struct {
	mu sync.Mutex
	by map[string]*showing // by the id of the disk
}

// showing is the guest that sees a disk; the zero reference for none.
type showing struct {
	turn sync.Mutex // of whoever changes that
	vm   vc.Ref
	disk GuestDisk
	uses int // who has it or waits for it; guarded by shown.mu
}

// enter waits for the disk's turn.
func (s *shown) enter(id string) *showing {
	s.mu.Lock()
	if s.by == nil {
		s.by = map[string]*showing{}
	}
	w := s.by[id]
	if w == nil {
		w = new(showing)
		s.by[id] = w
	}
	w.uses++
	s.mu.Unlock()
	w.turn.Lock()
	return w
}

// leave ends the turn. What nobody sees and nobody waits for is forgotten.
func (s *shown) leave(id string, w *showing) {
	none := w.vm == vc.Ref{}
	w.turn.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.uses--; w.uses == 0 && none {
		delete(s.by, id)
	}
}

// show brings the guests in line with the VM that has the disk by now. It is called with nothing locked. The error is that of
// the guest that is to see it.
func (m *Manager) show(id string) error {
	if m.opts.Guests == nil {
		return nil
	}
	w := m.shown.enter(id)
	defer m.shown.leave(id, w)
	ctx, cancel := m.lifetime()
	defer cancel()
	vm, d, has := m.onVM(id)
	if w.vm == vm {
		return nil
	}
	if (w.vm != vc.Ref{}) {
		if err := m.opts.Guests.Unplug(ctx, w.vm, w.disk); err != nil {
			m.log(subject{id: id, name: m.volumeName(id), vm: w.vm}, event.Warning, "volume.held", "its guest has not let go of it: %v", err)
		}
		w.vm = vc.Ref{}
	}
	if !has {
		return nil
	}
	if err := m.opts.Guests.Plug(ctx, vm, d); err != nil {
		return fmt.Errorf("the guest does not see the disk: %w", err)
	}
	w.vm, w.disk = vm, d
	return nil
}

// unseen is the fault of a disk whose guest, if it is one to ask, does not see it; nil when it does.
func (m *Manager) unseen(id string, ask bool) types.BaseMethodFault {
	if !ask {
		return nil
	}
	if err := m.show(id); err != nil {
		return because(nil, "Failed to attach disk: %v", err)
	}
	return nil
}

// showLater is show of disks that somebody else than CNS has moved; nobody waits for it.
func (m *Manager) showLater(ids []string) {
	if m.opts.Guests == nil || len(ids) == 0 {
		return
	}
	m.later(func() {
		for _, id := range ids {
			if err := m.show(id); err != nil {
				m.log(subject{id: id, name: m.volumeName(id)}, event.Warning, "volume.refused", "%v", err)
			}
		}
	})
}

// tell calls f about the guest that sees a disk, if one does.
func (m *Manager) tell(id string, bytes int64, f func(Guests, context.Context, vc.Ref, GuestDisk) error) error {
	if m.opts.Guests == nil {
		return nil
	}
	w := m.shown.enter(id)
	defer m.shown.leave(id, w)
	if (w.vm == vc.Ref{}) {
		return nil
	}
	ctx, cancel := m.lifetime()
	defer cancel()
	if bytes > 0 {
		w.disk.Bytes = bytes
	}
	return f(m.opts.Guests, ctx, w.vm, w.disk)
}

// onVM is the VM that has the disk.
func (m *Manager) onVM(id string) (vm vc.Ref, d GuestDisk, has bool) {
	d = GuestDisk{Volume: id, UUID: m.diskUUID(id)}
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.volumes[id]
	if v == nil {
		v = m.forgotten[id]
	}
	for ref, disks := range m.seen {
		if at, ok := disks[id]; ok && (v == nil || at.path == v.path) {
			if v != nil {
				d.UUID, d.Bytes = v.disk, v.capacity<<20
			}
			return ref, d, true
		}
	}
	return vc.Ref{}, d, false
}

// volumeName is the volume's name; empty when there is none.
func (m *Manager) volumeName(id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v := m.volumes[id]; v != nil {
		return v.name
	}
	return ""
}

// lifetime is a context that ends with the manager.
func (m *Manager) lifetime() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-m.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(); watch.Wait() }
}

// between lists the disks that are in one of two sightings of a VM and not in the other.
func between(was, is map[string]sighting) (ids []string) {
	for _, pair := range [][2]map[string]sighting{{was, is}, {is, was}} {
		for id, at := range pair[0] {
			if other, both := pair[1][id]; !both || other.path != at.path {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// withVM calls f with the VM locked; the fault is f's, or that the VM is not there.
func (m *Manager) withVM(ctx *simulator.Context, ref vc.Ref, f func(vm *simulator.VirtualMachine) types.BaseMethodFault) (fault types.BaseMethodFault) {
	gone := &types.ManagedObjectNotFound{Obj: ref}
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return gone
	}
	ctx.WithLock(vm, func() {
		if ctx.Map.Get(ref) == nil { // destroyed while its lock was waited for
			fault = gone
			return
		}
		fault = f(vm)
	})
	return fault
}

// nameOf is the VM's name; empty when there is none.
func (m *Manager) nameOf(ctx *simulator.Context, ref vc.Ref) (name string) {
	_ = m.withVM(ctx, ref, func(vm *simulator.VirtualMachine) types.BaseMethodFault { name = vm.Name; return nil })
	return name
}

// disksRefused is what RefuseDisks has said of the VM.
func (m *Manager) disksRefused(ctx *simulator.Context, vm vc.Ref) (attach, detach types.BaseMethodFault) {
	if h := host.Of(ctx); h != nil {
		return h.DisksRefused(vm)
	}
	return nil, nil
}

// changeable reports why the devices of the VM, whose lock is held, cannot be changed in the state that it is in; nil when
// they can. doing is what is to be done, for CNS's words.
func changeable(vm *simulator.VirtualMachine, doing string) types.BaseMethodFault {
	switch vm.Runtime.ConnectionState {
	case types.VirtualMachineConnectionStateDisconnected:
		return because(new(types.HostNotConnected), "Failed to %s disk: the VM's host is not connected", doing)
	case types.VirtualMachineConnectionStateOrphaned, types.VirtualMachineConnectionStateInaccessible, types.VirtualMachineConnectionStateInvalid:
		return new(types.InvalidState)
	default:
	}
	switch {
	case vm.Config == nil || vm.Config.Template || vm.Runtime.Host == nil:
		return new(types.InvalidState)
	case vm.Runtime.PowerState == types.VirtualMachinePowerStateSuspended:
		return &types.InvalidPowerState{
			RequestedState: types.VirtualMachinePowerStatePoweredOn, ExistingState: vm.Runtime.PowerState,
		}
	}
	return nil
}
