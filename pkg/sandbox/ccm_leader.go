package sandbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// watchLeader follows the Lease by which several elect a leader. Again it does nothing.
func (s *Sandbox) watchLeader() {
	s.mu.Lock()
	begun := s.leaderWatched || s.cluster == nil
	s.leaderWatched = true
	s.mu.Unlock()
	if begun {
		return
	}
	s.background.Run("ccm leader", func(ctx context.Context) {
		holders := make(chan string, 1)
		seen := func(o any) {
			lease, ok := o.(*coordinationv1.Lease)
			if !ok || lease.Spec.HolderIdentity == nil {
				return
			}
			select { // the newest counts
			case <-holders:
			default:
			}
			holders <- *lease.Spec.HolderIdentity
		}
		factory := s.informersOf(ccmLeaseName)
		if _, err := factory.Coordination().V1().Leases().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: seen, UpdateFunc: func(_, o any) { seen(o) },
		}); err != nil {
			s.opts.Logger.Error("leader watch", "err", err)
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
					last, leader = holder, s.leaderChanged(ctx, holder, leader)
				}
			}
		}
	})
}

// leaderChanged notes that the Lease has another holder, and returns which replica that is; "" for none of ours.
func (s *Sandbox) leaderChanged(ctx context.Context, holder, was string) string {
	leader := s.findLeader(ctx, holder)
	s.ccms.tell(func() {
		for _, r := range s.ccms.list {
			r.leads = r.name == leader
		}
	})
	for _, r := range s.ccms.all() {
		s.components.Changed(r.name)
	}
	cause := s.causes.Newest([]string{"child.exited", "child.stopped", "child.killed", "child.paused", "api.cut"}, func(e event.Event) bool {
		return was != "" && e.Object.Name == was
	})
	name := leader
	if name == "" {
		name = holder // somebody who is none of ours, or who has ended already
	}
	e := event.Event{
		Plane: event.PlaneKubernetes, Kind: "ccm.leader-changed", Cause: cause,
		Object: event.Object{Kind: "Component", Name: name}, Message: name + " leads",
	}
	if was != "" {
		e.Message += fmt.Sprintf("; before it was %s", was)
	}
	s.log.Append(e)
	return leader
}

// findLeader finds the replica that has made up the name in the Lease: it logs the name when it becomes the leader, as
// the Event that says so. Its metrics do not tell.
func (s *Sandbox) findLeader(ctx context.Context, holder string) string {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 60 { // it says so a moment after it has taken the lease
		for _, r := range s.ccms.all() {
			if strings.Contains(child.LogTail(s.opts.Dir.Log(r.name), r.logFrom), holder) {
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
