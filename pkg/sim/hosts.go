package sim

import (
	"context"

	"github.com/vmware/govmomi/vim25/types"
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

// CrashHost pulls the host's plug: its VMs die with it. It is an error when the host is down already.
func (v *VCenter) CrashHost(ctx context.Context, host types.ManagedObjectReference) error {
	return v.hosts.Crash(ctx, host)
}

// IsolateHost takes the host's management network away: its VMs run on, unseen. It is an error when the host is down or
// isolated already.
func (v *VCenter) IsolateHost(ctx context.Context, host types.ManagedObjectReference) error {
	return v.hosts.Isolate(ctx, host)
}

// RecoverHost brings a host back that crashed, lost its network, was shut down or is in standby. VMs that died with it are
// off then. It is an error when nothing is wrong with the host.
func (v *VCenter) RecoverHost(ctx context.Context, host types.ManagedObjectReference) error {
	return v.hosts.Recover(ctx, host)
}

// OrphanVM makes the VM unknown to its host, as when somebody deletes it there behind the vCenter's back.
func (v *VCenter) OrphanVM(ctx context.Context, vm types.ManagedObjectReference) error {
	return v.hosts.Orphan(ctx, vm)
}

// HideVM shows the VM in a connection state (disconnected, inaccessible, orphaned) while nothing is wrong with its host.
func (v *VCenter) HideVM(ctx context.Context, vm types.ManagedObjectReference, state types.VirtualMachineConnectionState) error {
	return v.hosts.Hide(ctx, vm, state)
}

// ShowVM ends HideVM and OrphanVM; for a VM that is not hidden it does nothing.
func (v *VCenter) ShowVM(ctx context.Context, vm types.ManagedObjectReference) error {
	return v.hosts.Show(ctx, vm)
}
