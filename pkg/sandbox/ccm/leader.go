package ccm

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
)

// watchLeader watches the Lease by which replicas elect a leader, once. The caller holds changing.
func (p *Processes) watchLeader() {
	if p.leaderSeen {
		return
	}
	p.leaderSeen = true
	p.Background.Run(leaderGroup, func(ctx context.Context) {
		holders := make(chan string, 1)
		factory := cloudconfig.Informers(p.Cluster().Client(), p.Place.Namespace, leaseName)
		err := storage.Follow(factory.Coordination().V1().Leases().Informer(), func(_, lease *coordinationv1.Lease, gone bool) {
			if gone || lease.Spec.HolderIdentity == nil {
				return
			}
			select { // only the newest holder counts
			case <-holders:
			default:
			}
			holders <- *lease.Spec.HolderIdentity
		})
		if err != nil {
			p.failed(err)
			return
		}
		factory.Start(ctx.Done())
		defer factory.Shutdown()
		last, leader := "", ""
		for {
			select {
			case <-ctx.Done():
				return
			case holder := <-holders:
				if holder != last && holder != "" {
					last, leader = holder, p.leaderChanged(ctx, holder, leader)
				}
			}
		}
	})
}

// leaderChanged logs a new holder of the Lease and returns its replica, "" for any other process.
func (p *Processes) leaderChanged(ctx context.Context, holder, old string) string {
	leader := p.findLeader(ctx, holder)
	p.update(func() {
		for _, r := range p.list {
			r.leads = r.name == leader
		}
	})
	for _, r := range p.all() {
		p.Components.Changed(r.name)
	}
	cause := p.Causes.Newest([]string{"child.exited", "child.stopped", "child.killed", "child.paused", "api.cut"}, func(e event.Event) bool {
		return old != "" && e.Object.Name == old
	})
	name := leader
	name = cmp.Or(name, holder) // another process, or a replica that has ended
	e := event.Event{
		Plane: event.PlaneKubernetes, Kind: "ccm.leader-changed", Cause: cause,
		Object: event.Object{Kind: "Component", Name: name}, Message: name + " leads",
	}
	if old != "" {
		e.Message += fmt.Sprintf("; before it was %s", old)
	}
	p.Log.Append(e)
	return leader
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
