package ccm

import (
	"context"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/leader"
)

// watchLeader watches the Lease by which replicas elect a leader, once. The caller holds changing.
func (p *Processes) watchLeader() {
	if p.leaderSeen {
		return
	}
	p.leaderSeen = true
	lease := leader.Lease{
		Client: p.Cluster().Client(), Namespace: p.Place.Namespace, Name: leaseName, Log: p.Log, Causes: p.Causes, Event: "ccm.leader-changed",
		Find: p.findLeader, Changed: p.leaderChanged,
	}
	p.Background.Run(leaderGroup, func(ctx context.Context) {
		if err := lease.Follow(ctx); err != nil {
			p.failed(err)
		}
	})
}

// leaderChanged notes which replica leads.
func (p *Processes) leaderChanged(replica string) {
	p.update(func() {
		for _, r := range p.list {
			r.leads = r.name == replica
		}
	})
	for _, r := range p.all() {
		p.Components.Changed(r.name)
	}
}

// findLeader returns the replica that chose the name in the Lease. A replica logs that name when it becomes the leader. No metric
// has it.
func (p *Processes) findLeader(ctx context.Context, holder string) string {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 60 { // the log comes after the Lease
		for _, r := range p.all() {
			if strings.Contains(child.LogTail(p.Dir.Log(r.name), r.logFrom), holder) {
				return r.name
			}
		}
		select {
		case <-ctx.Done():
			return ""
		case <-tick.C:
		}
	}
	return ""
}
