package host

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// empty waits until the VMs that have to leave the host have left, helping where DRS would, and then makes the change. A
// fault undoes the announcement. seconds <= 0 means no limit.
func (h *Hosts) empty(ctx *simulator.Context, host *simulator.HostSystem, t *simulator.Task, all bool, cause uint64, seconds int32, change func(*condition)) (fault types.BaseMethodFault) {
	defer func() {
		if fault == nil {
			return
		}
		h.turn(host.Self, func(c *condition) bool { c.leaving, c.mode = false, ""; return c.machine == running })
		h.publish(host.Self, 0)
		e := Event(ctx, host, "")
		e.FullFormattedMessage = "The operation performed on " + host.Name + " in " + placeOf(e) + " was canceled"
		vc.Post(ctx, &types.CanceledHostOperationEvent{HostEvent: e})
		h.logHost(host, event.Warning, "host.stays", "does not leave service after all")
	}()
	var expired <-chan time.Time
	if seconds > 0 {
		timer := time.NewTimer(time.Duration(seconds) * time.Second)
		defer timer.Stop()
		expired = timer.C
	}
	refused := make(map[vc.Ref]bool)
	for {
		changed := h.watcher.next() // before the look, so that nothing is missed
		if c := h.of(host.Self); c.fault() != nil || !c.leaving {
			return new(types.InvalidState) // lost on the way
		}
		if canceled(ctx, t) {
			return new(types.RequestCanceled)
		}
		left := h.evacuate(ctx, host, all, cause, refused)
		if left == 0 && h.enter(host, all, change) {
			return nil
		}
		if left == 0 {
			continue // one was started meanwhile
		}
		select {
		case <-changed:
		case <-expired:
			return new(types.Timedout)
		case <-h.stop:
			return new(types.RequestCanceled)
		}
	}
}

// enter makes the change if the host is empty, with no VM being started.
func (h *Hosts) enter(host *simulator.HostSystem, all bool, change func(*condition)) bool {
	h.starting.Lock()
	defer h.starting.Unlock()
	if len(h.remaining(host, all)) > 0 {
		return false
	}
	if !h.turn(host.Self, func(c *condition) bool {
		if !c.leaving || c.fault() != nil {
			return false
		}
		c.leaving = false
		change(c)
		return true
	}) {
		return false
	}
	h.publish(host.Self, 0)
	return true
}
