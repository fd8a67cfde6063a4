package scenario

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
)

// restore heals every fault that the scenario has left, including interrupted injections and those of its commands, and waits
// until the world is as it was at the beginning. It returns what is not. After an interrupt it only waits for the healing, and in
// a disposable sandbox for nothing.
func (r *run) restore(ctx context.Context) []string {
	select {
	case <-r.session.gone:
		return []string{"the sandbox does not answer"}
	default:
	}
	left := r.healAll(ctx)
	ctx, cancel := context.WithTimeout(ctx, healTime)
	defer cancel()
	return append(left, r.settle(ctx)...)
}

// healAll heals all lasting faults, and returns those that it could not heal.
func (r *run) healAll(ctx context.Context) (left []string) {
	ids := r.injected()
	if len(ids) == 0 {
		return nil
	}
	unhealed := "faults " + strings.Join(ids, ", ") + " are not healed: "
	if ctx.Err() != nil && r.options.Disposable {
		return []string{unhealed + "interrupted"}
	}
	healing, cancel := r.outlast(ctx)
	defer cancel()
	healing, cancel = context.WithTimeout(healing, healTime)
	defer cancel()
	leases, err := r.session.sandbox.Heal(healing, api.HealRequest{IDs: ids})
	if err != nil {
		left = append(left, unhealed+err.Error())
	}
	for _, lease := range leases {
		if lease.State == "failed" {
			left = append(left, "fault is not healed: "+leaseText(lease))
		}
	}
	return left
}

// outlast returns a context for work that must be completed: it ends [GraceTime] after ctx. In a disposable sandbox it ends with
// ctx.
func (r *run) outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.options.Disposable {
		return context.WithCancel(ctx)
	}
	on, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(GraceTime, cancel) })
	return on, func() { stop(); cancel() }
}

// injected returns the lasting leases since the beginning.
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

// settledFor is how long the world must stay unchanged: consequences of the last step may still arrive.
const settledFor = 500 * time.Millisecond

// settle waits until the world is as it was at the beginning. At the end of the time or of ctx it returns what is not.
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
			return append(left, "the sandbox does not answer")
		}
	}
}
