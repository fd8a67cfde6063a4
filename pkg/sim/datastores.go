package sim

import (
	"context"

	"github.com/vmware/govmomi/vim25/types"
)

// LoseDatastore takes the datastore away from the hosts, from all when none is named: all paths to it are down. VMs whose
// configuration is on it become inaccessible; those that are on run on. Losing it again is harmless.
func (v *VCenter) LoseDatastore(ctx context.Context, datastore types.ManagedObjectReference, hosts ...types.ManagedObjectReference) error {
	return v.hosts.LoseDatastore(ctx, datastore, hosts...)
}

// RestoreDatastore gives the datastore back to the hosts, to all when none is named.
func (v *VCenter) RestoreDatastore(ctx context.Context, datastore types.ManagedObjectReference, hosts ...types.ManagedObjectReference) error {
	return v.hosts.RestoreDatastore(ctx, datastore, hosts...)
}

// UnmountDatastore removes the datastore from the host: neither knows the other any more. Doing it again is harmless.
func (v *VCenter) UnmountDatastore(ctx context.Context, datastore, host types.ManagedObjectReference) error {
	return v.hosts.Unmount(ctx, datastore, host)
}

// MountDatastore ends UnmountDatastore; for a datastore that the host mounts it does nothing.
func (v *VCenter) MountDatastore(ctx context.Context, datastore, host types.ManagedObjectReference) error {
	return v.hosts.Mount(ctx, datastore, host)
}

// FillDatastore leaves no space on the datastore: what would need some fails with NoDiskSpace. Filling it again is harmless.
func (v *VCenter) FillDatastore(ctx context.Context, datastore types.ManagedObjectReference) error {
	return v.hosts.Fill(ctx, datastore)
}

// FreeDatastore ends FillDatastore; for a datastore that is not full it does nothing.
func (v *VCenter) FreeDatastore(ctx context.Context, datastore types.ManagedObjectReference) error {
	return v.hosts.Free(ctx, datastore)
}

// RefuseDisks lets disks be attached to the VM only with attach being nil, and detached only with detach being nil: the
// tasks end in that fault. Other changes of the VM are not affected.
func (v *VCenter) RefuseDisks(ctx context.Context, vm types.ManagedObjectReference, attach, detach types.BaseMethodFault) error {
	return v.hosts.RefuseDisks(ctx, vm, attach, detach)
}

// DisksRefused returns what was given to RefuseDisks.
func (v *VCenter) DisksRefused(vm types.ManagedObjectReference) (attach, detach types.BaseMethodFault) {
	return v.hosts.DisksRefused(vm)
}
