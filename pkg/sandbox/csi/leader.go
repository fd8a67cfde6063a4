package csi

import (
	"context"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/election"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/leader"
)

// followLeases watches the Leases by which the replicas of each process elect a leader, once. The caller holds changing.
func (d *Driver) followLeases() {
	if d.followed {
		return
	}
	d.followed = true
	for _, p := range processes() {
		if p.part == partSyncer {
			continue
		}
		lease := leader.Lease{
			Client: d.Cluster().Client(), Namespace: objects.DefaultNamespace, Name: objects.Lease(p.account), Log: d.Log, Causes: d.Causes,
			Event: "csi.leader-changed", Find: d.findLeader, Changed: func(replica string) { d.leaderChanged(p.program, replica) },
		}
		d.Background.Run(leaderGroup, func(ctx context.Context) {
			if err := lease.Follow(ctx); err != nil {
				d.Logger.Error("CSI driver", "lease", lease.Name, "err", err)
			}
		})
	}
}

// findLeader returns the component that is the holder in a Lease, "" for none of the driver's.
func (d *Driver) findLeader(_ context.Context, holder string) string {
	name := election.Name(holder)
	if !slices.ContainsFunc(d.Running().processes(), func(p process) bool { return p.name == name }) {
		return ""
	}
	return name
}

// leaderChanged notes which replica of a program leads.
func (d *Driver) leaderChanged(program, replica string) {
	all := d.Running().processes()
	d.update(func() {
		for _, p := range all {
			if p.program == program {
				d.leads[p.name] = p.name == replica
			}
		}
	})
	for _, p := range all {
		if p.program == program {
			d.Components.Changed(p.name)
		}
	}
}
