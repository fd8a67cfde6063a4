package scenario

import (
	"context"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/world"
)

// restore heals every fault that the scenario has left, also one whose injection was interrupted or that a command has
// injected, and waits for the world to be as it was at the beginning. It returns what is not.
func (r *run) restore(ctx context.Context) []string {
	select {
	case <-r.session.gone:
		return []string{"the sandbox cannot be asked"}
	default:
	}
	var left []string
	if ids := r.injected(); len(ids) > 0 {
		leases, err := r.session.sandbox.Heal(ctx, api.HealRequest{IDs: ids})
		if err != nil {
			left = append(left, "faults are not healed: "+err.Error())
		}
		for _, lease := range leases {
			if lease.State == "failed" {
				left = append(left, "fault is not healed: "+told(lease))
			}
		}
	}
	return append(left, r.settle(ctx)...)
}

// injected are the leases since the beginning that last.
func (r *run) injected() []string {
	ids := slices.Clone(r.leases)
	over := map[string]bool{}
	r.session.with(func(v *expect.View) {
		for _, lease := range world.Values[api.Lease](v.World, world.Lease) {
			if lease.State == "healed" {
				over[lease.ID] = true
			} else if !r.before[lease.ID] && !slices.Contains(ids, lease.ID) {
				ids = append(ids, lease.ID)
			}
		}
	})
	return slices.DeleteFunc(ids, func(id string) bool { return over[id] })
}

// settledFor is how long the world has to stay as it was: consequences of the last step may still be on their way.
const settledFor = 500 * time.Millisecond

// settle waits until the world is as it was at the beginning, and returns what is not when the time is over.
func (r *run) settle(ctx context.Context) []string {
	changed, done := r.session.listen()
	defer done()
	over := time.NewTimer(time.Duration(float64(settleTime) * r.options.Patience))
	defer over.Stop()
	still := time.NewTimer(settledFor)
	defer still.Stop()
	for was := true; ; {
		var left []string
		r.session.with(func(v *expect.View) { left = v.World.Snapshot().Since(r.baseline) })
		if is := len(left) == 0; is && !was {
			still.Reset(settledFor)
			was = true
		} else if !is {
			still.Stop()
			was = false
		}
		select {
		case <-still.C:
			return nil
		case <-changed:
		case <-over.C:
			return left
		case <-ctx.Done():
			return left
		case <-r.session.gone:
			return append(left, "the sandbox cannot be asked")
		}
	}
}
