package sim

import (
	"net/netip"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// What no client can ask of a VM and its guest.

// CausingVM names the event that is the cause of what happens to the VM until release is called.
func (v *VCenter) CausingVM(vm types.ManagedObjectReference, seq uint64) (release func()) {
	return v.guests.CausingRef(vm, seq)
}

// OverrideGuest has change rewrite what the VM's guest reports: see [guest.Guests.Override].
func (v *VCenter) OverrideGuest(vm types.ManagedObjectReference, name string, change func(guest.Report) guest.Report) error {
	return v.guests.Override(vm, name, change)
}

// SlowGuest has the VM's guest take longer to boot: see [guest.Guests.Slow].
func (v *VCenter) SlowGuest(vm types.ManagedObjectReference, name string, by time.Duration) error {
	return v.guests.Slow(vm, name, by)
}

// LendAddresses keeps other addresses for the VM's guest: see [guest.Guests.Lend].
func (v *VCenter) LendAddresses(vm types.ManagedObjectReference, name string) map[netip.Addr]netip.Addr {
	return v.guests.Lend(vm, name)
}

// ReleaseGuest ends what OverrideGuest, SlowGuest and LendAddresses did under that name. It may be called again.
func (v *VCenter) ReleaseGuest(vm types.ManagedObjectReference, name string) {
	v.guests.Release(vm, name)
}

// Guest is what the VM's guest is; false when there is no such VM.
func (v *VCenter) Guest(vm types.ManagedObjectReference) (guest.Info, bool) { return v.guests.Info(vm) }

// Cards are the MAC addresses of the VM's network cards: see [guest.Guests.Cards].
func (v *VCenter) Cards(vm types.ManagedObjectReference) []string { return v.guests.Cards(vm) }

// InstallGuest makes the VM's guest another one: see [guest.Guests.Become].
func (v *VCenter) InstallGuest(vm types.ManagedObjectReference, info guest.Info) error {
	return v.guests.Become(vm, info)
}

// KeepVM remembers all that makes up the VM, for [VCenter.ResembleVM] to make it of another. ForgetVM ends that.
func (v *VCenter) KeepVM(vm types.ManagedObjectReference, name string) error {
	return v.guests.Keep(vm, name)
}

// KeptVM tells whether a VM is remembered under that name.
func (v *VCenter) KeptVM(name string) bool { return v.guests.Kept(name) }

// ResembleVM makes the VM what is kept under that name: see [guest.Guests.Resemble].
func (v *VCenter) ResembleVM(vm types.ManagedObjectReference, name, uuid, instance string) error {
	return v.guests.Resemble(vm, name, uuid, instance)
}

// ForgetVM ends what KeepVM began.
func (v *VCenter) ForgetVM(name string) { v.guests.Forget(name) }

// WriteUUID writes the VM's BIOS UUID as it is given: also none, which no client can. A VM that is gone is left alone.
func (v *VCenter) WriteUUID(vm types.ManagedObjectReference, uuid string) {
	ctx := vc.Fresh(v.service.ctx)
	if _, ok := ctx.Map.Get(vm).(*simulator.VirtualMachine); !ok {
		return
	}
	vc.Set(ctx, vm, vc.P("config.uuid", uuid), vc.P("summary.config.uuid", uuid))
}
