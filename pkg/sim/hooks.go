package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// What happens to hosts and what no client of a vCenter can ask for. Errors say which object it is about.

// CausingRef names the event that is the cause of what happens to the object (VM, host, datastore), and to its tags, until
// release is called. Of two at once the later one counts.
func (v *VCenter) CausingRef(ref types.ManagedObjectReference, seq uint64) (release func()) {
	releases := []func(){v.hosts.Causing(ref, seq), v.service.rest.Causing(ref, seq)}
	if ref.Type == "VirtualMachine" {
		releases = append(releases, v.guests.CausingRef(ref, seq))
	}
	return func() {
		for _, release := range releases {
			release()
		}
	}
}

// OnDied lets f know of every VM that dies with its host, whose vCenter still shows it as powered on: it cannot see that.
// seq is the event of the log that says so. It may be called at any time; f is called on the goroutine of whoever ended
// the host, with no lock held, before that returns.
func (v *VCenter) OnDied(f func(vm types.ManagedObjectReference, seq uint64)) { v.hosts.OnDeath(f) }

// What no client can ask of a VM and its guest.

// Guest is what the VM's guest is; false when there is no such VM.
func (v *VCenter) Guest(vm types.ManagedObjectReference) (guest.Info, bool) { return v.guests.Info(vm) }

// Cards are the MAC addresses of the VM's network cards: see [guest.Guests.Cards].
func (v *VCenter) Cards(vm types.ManagedObjectReference) []string { return v.guests.Cards(vm) }

// InstallGuest makes the VM's guest another one: see [guest.Guests.Become].
func (v *VCenter) InstallGuest(vm types.ManagedObjectReference, info guest.Info) error {
	return v.guests.Become(vm, info)
}

// WriteUUID writes the VM's BIOS UUID as it is given: also none, which no client can. A VM that is gone is left alone.
func (v *VCenter) WriteUUID(vm types.ManagedObjectReference, uuid string) {
	ctx := vc.Fresh(v.service.ctx)
	if _, ok := ctx.Map.Get(vm).(*simulator.VirtualMachine); !ok {
		return
	}
	vc.Set(ctx, vm, vc.P("config.uuid", uuid), vc.P("summary.config.uuid", uuid))
}
