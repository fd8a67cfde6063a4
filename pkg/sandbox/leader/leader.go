// Package leader follows the Lease by which the replicas of a component elect a leader, and logs who leads.
//
// Floor 3.
package leader

import (
	"cmp"
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
)

// Lease is the Lease of one component. Set all fields before [Lease.Follow].
type Lease struct {
	Client          kubernetes.Interface
	Namespace, Name string
	Log             *event.Log
	Causes          *causality.Finder
	// Event is the kind of the event of a new leader.
	Event string
	// Find returns the replica that is the holder in the Lease, "" for any other process. It may wait for what says so.
	Find func(ctx context.Context, holder string) string
	// Changed is called with each new leader before its event is logged, and with "" for a process that is no replica.
	Changed func(replica string)
}

// Follow logs each new holder of the Lease until ctx ends.
func (l Lease) Follow(ctx context.Context) error {
	holders := make(chan string, 1)
	factory := cloudconfig.Informers(l.Client, l.Namespace, l.Name)
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
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	last, leader := "", ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case holder := <-holders:
			if holder != last && holder != "" {
				last, leader = holder, l.changed(ctx, holder, leader)
			}
		}
	}
}

// changed logs a new holder and returns its replica, "" for any other process.
func (l Lease) changed(ctx context.Context, holder, old string) string {
	leader := l.Find(ctx, holder)
	l.Changed(leader)
	cause := l.Causes.Newest([]string{"child.exited", "child.stopped", "child.killed", "child.paused", "api.cut"}, func(e event.Event) bool {
		return old != "" && e.Object.Name == old
	})
	name := cmp.Or(leader, holder) // another process, or a replica that has ended
	e := event.Event{Plane: event.PlaneKubernetes, Kind: l.Event, Cause: cause, Object: event.Object{Kind: "Component", Name: name}, Message: name + " leads"}
	if old != "" {
		e.Message += "; before it was " + old
	}
	l.Log.Append(e)
	return leader
}
