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

// Guests shows disks to the guests of VMs that have block devices. A hypervisor does so before the task of an attachment
// succeeds, so that a guest need not wait.
//
// Calls about one disk are sequential, those about several are concurrent. The context ends with the simulator. A VM without a
// known guest is not an error. Methods must not call the simulator.
type Guests interface {
	// Plug shows a disk to the guest of its VM, powered on or not. An error fails the attachment, with its message.
	Plug(ctx context.Context, vm types.ManagedObjectReference, d GuestDisk) error
	// Unplug removes a disk, whether or not the guest uses it. The VM may be gone. An error is only logged, because the VM has
	// lost the disk already.
	Unplug(ctx context.Context, vm types.ManagedObjectReference, d GuestDisk) error
	// Resize reports the new size of a disk to the guest. An error fails the extension.
	Resize(ctx context.Context, vm types.ManagedObjectReference, d GuestDisk) error
	// Flush is called before a disk is copied, and must write the guest's buffers to it. An error fails the copy.
	Flush(ctx context.Context, vm types.ManagedObjectReference, d GuestDisk) error
}

// Keeper is an optional ability of [Guests] that write to the directories of contents, whose files this process may not be able
// to read or remove. Both methods behave like the functions of package csi/disk.
type Keeper interface {
	Copy(ctx context.Context, from, to string) error
	Remove(ctx context.Context, dir string) error
}

// GuestDisk is a disk of a VM that is, or could be, a volume.
type GuestDisk struct {
	// Volume is the ID of the first-class disk, UUID that of its backing.
	Volume, UUID string
	// Bytes is its size, 0 if unknown.
	Bytes int64
}

// shown records which guest sees which disk.
type shown struct {
	mu sync.Mutex
	by map[string]*showing // by the id of the disk
}

// showing is the VM whose guest sees a disk; zero: none.
type showing struct {
	turn sync.Mutex // held while that changes
	vm   vc.Ref
	disk GuestDisk
	uses int // holders and waiters; guarded by shown.mu
}

// enter takes the lock of the disk.
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

// leave releases it, and forgets the disk if no guest sees it and no call waits.
func (s *shown) leave(id string, w *showing) {
	none := w.vm == vc.Ref{}
	w.turn.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.uses--; w.uses == 0 && none {
		delete(s.by, id)
	}
}

// show updates the guests after a disk has moved to or from a VM. Call it without locks. It returns the error of the guest that
// must see it.
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

// unseen returns the fault of a disk that its guest does not see; nil if it does, or if ask is false.
func (m *Manager) unseen(id string, ask bool) types.BaseMethodFault {
	if !ask {
		return nil
	}
	if err := m.show(id); err != nil {
		return because(nil, "Failed to attach disk: %v", err)
	}
	return nil
}

// showLater calls show in the background, for disks that other clients have moved.
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

// guestOf calls f with the guest that sees a disk, if one does.
func (m *Manager) guestOf(id string, bytes int64, f func(Guests, context.Context, vc.Ref, GuestDisk) error) error {
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

// onVM returns the VM that has the disk.
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

// volumeName returns the volume's name, or "".
func (m *Manager) volumeName(id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v := m.volumes[id]; v != nil {
		return v.name
	}
	return ""
}

// lifetime returns a context that ends with the manager.
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

// between lists the disks that are in exactly one of two sightings of a VM.
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

// withVM calls f with the VM locked, and returns its fault, or that the VM is gone.
func (m *Manager) withVM(ctx *simulator.Context, ref vc.Ref, f func(vm *simulator.VirtualMachine) types.BaseMethodFault) (fault types.BaseMethodFault) {
	gone := &types.ManagedObjectNotFound{Obj: ref}
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return gone
	}
	ctx.WithLock(vm, func() {
		if ctx.Map.Get(ref) == nil { // destroyed while waiting for its lock
			fault = gone
			return
		}
		fault = f(vm)
	})
	return fault
}

// nameOf returns the VM's name, or "".
func (m *Manager) nameOf(ctx *simulator.Context, ref vc.Ref) (name string) {
	_ = m.withVM(ctx, ref, func(vm *simulator.VirtualMachine) types.BaseMethodFault { name = vm.Name; return nil })
	return name
}

// disksRefused returns what RefuseDisks set for the VM.
func (m *Manager) disksRefused(ctx *simulator.Context, vm vc.Ref) (attach, detach types.BaseMethodFault) {
	if h := host.Of(ctx); h != nil {
		return h.DisksRefused(vm)
	}
	return nil, nil
}

// changeable returns the reason why the devices of the VM, whose lock is held, cannot change, or nil. doing describes the change
// in CNS's message.
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
