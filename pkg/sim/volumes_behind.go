package sim

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// What happens to volumes behind Kubernetes' back.

// DetachVolume takes the volume off the VM that it is on, as an administrator does who edits the VM. On none is an error.
func (v *VCenter) DetachVolume(ctx context.Context, id string) error {
	return v.service.volumes.Detach(ctx, id)
}

// RelocateVolume moves the volume to the datastore of that name, in the datacenter of the one that it is on.
func (v *VCenter) RelocateVolume(ctx context.Context, id, datastore string) error {
	is, ok := v.service.volumes.Volume(id)
	if !ok {
		return fmt.Errorf("volume %s: no such volume", id)
	}
	to, err := v.datastoreBeside(is.Datastore, datastore)
	if err != nil {
		return fmt.Errorf("volume %s: %w", id, err)
	}
	return v.service.volumes.Relocate(ctx, id, to)
}

// ForgetVolume has CNS lose what it knows of the volume, as when its database is restored from before the volume was made.
// The disk stays, on the VM that it is on.
func (v *VCenter) ForgetVolume(id string) error { return v.service.volumes.Forget(id) }

// RecallVolume gives CNS back what [VCenter.ForgetVolume] had it lose; NotFound when the disk is gone.
func (v *VCenter) RecallVolume(id string) error { return v.service.volumes.Recall(id) }

// CausingVolume names the event that is the cause of what happens to the volume until release is called.
func (v *VCenter) CausingVolume(id string, seq uint64) (release func()) {
	return v.service.volumes.Causing(id, seq)
}

// ScriptCNS puts a rule about calls of CNS in force: they fail in the way that vCenter's do, or take longer, until undo is
// called.
func (v *VCenter) ScriptCNS(r cns.Rule) (undo func()) { return v.service.volumes.Script(r) }

// UnscriptCNS ends the rules of that name, as undo does.
func (v *VCenter) UnscriptCNS(name string) { v.service.volumes.Unscript(name) }

// datastoreBeside finds a datastore by name in the datacenter of another one; anywhere, when that is gone and the name is
// not ambiguous.
func (v *VCenter) datastoreBeside(beside types.ManagedObjectReference, name string) (vc.Ref, error) {
	ctx := vc.Fresh(v.service.ctx)
	here, known := vc.Datacenter(ctx.Map, beside)
	var found []vc.Ref
	for _, obj := range ctx.Map.AllReference("Datastore") {
		ds, ok := obj.(*simulator.Datastore)
		if !ok || v.nameOf(ds.Self) != name {
			continue
		}
		if there, _ := vc.Datacenter(ctx.Map, ds.Self); known && there == here {
			return ds.Self, nil
		}
		found = append(found, ds.Self)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return vc.Ref{}, fmt.Errorf("datastore %q: no such datastore", name)
	}
	return vc.Ref{}, fmt.Errorf("datastore %q: there are %d in other datacenters", name, len(found))
}
