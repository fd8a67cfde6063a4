package vcenter

import (
	"context"
	"errors"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// WatchSpec says what to watch below the root folder.
type WatchSpec struct {
	// Properties are the property paths wanted of each managed object type ("VirtualMachine": {"name",
	// "runtime.powerState"}). A base type stands for its derived types; do not name both.
	Properties map[string][]string
	// Along names for a path others that are read with it when it has changed and they have not: a handler that does not
	// keep their last values needs them to make sense of the new one.
	Along map[string][]string
	// Events are the types of events ("com.vmware.cis.tagging.attach") that an [EventHandler] wants to hear of.
	Events []string
}

// Kind is what happened to an object.
type Kind string

// The kinds of [Update].
const (
	// Enter: the object is there. Changes hold everything that is known of it; whatever was known before is void.
	Enter Kind = "enter"
	// Modify: Changes hold the properties that changed.
	Modify Kind = "modify"
	// Leave: the object is no longer among those watched. Changes are empty.
	Leave Kind = "leave"
)

// Update is what became of one object.
type Update struct {
	Kind Kind
	Ref  types.ManagedObjectReference
	// Changes hold whole values under exactly the paths of the [WatchSpec], never parts of them, so that
	// mo.ApplyPropertyChange may be used; a nil Val means that the property is unset now.
	Changes []types.PropertyChange
	// Missing are the paths that the vCenter would not tell, for lack of permission for example.
	Missing []string
}

// Handler receives what a watch sees. All its methods are called from the goroutine that called [Client.Watch], one at
// a time, and should not block: updates wait meanwhile.
type Handler interface {
	// Update is given what changed since the call before, in the order the vCenter tells it.
	Update([]Update)
	// Synced says that every object has been told: from here until Lost, an object that was not told does not exist.
	Synced()
	// Lost says that the watch broke, before or after it was in sync, and why. What was told may no longer be true.
	// The watch begins again by itself: it tells every object anew with Enter, then Leave for those that went
	// meanwhile, then Synced.
	Lost(error)
}

// Watch tells h what the vCenter's inventory holds and how it changes, with one collector and one long poll, until ctx
// ends; it returns ctx's error. It waits for a connection, and after a loss begins anew with back-off. A hung vCenter
// is noticed within MaxWait + CallTimeout.
func (c *Client) Watch(ctx context.Context, spec WatchSpec, h Handler) error {
	w := &watch{client: c, spec: spec, handler: h, seen: map[types.ManagedObjectReference]int{}}
	failures := 0
	for {
		s, err := c.Wait(ctx)
		if err != nil {
			return err
		}
		w.synced = false
		err = w.run(ctx, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.cfg.Logger.Debug("watch lost", "err", err)
		h.Lost(err)
		// What breaks the connection is paced by Run; a watch that fails again and again on one that works is not.
		if failures++; w.synced || expired(err) || unreachable(err) && !errors.Is(err, context.DeadlineExceeded) {
			failures = 1
		}
		t := time.NewTimer(c.cfg.FaultRetry.pause(failures))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}
