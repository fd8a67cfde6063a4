package scenario

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// inject injects a fault.
func (r *run) inject(ctx context.Context, s *Step, own *expect.Mark, res *result.Step) error {
	// The sandbox completes an injection even if the caller has gone, so the run must learn its result.
	injecting, cancel := r.outlast(ctx)
	defer cancel()
	lease, err := r.session.sandbox.Inject(injecting, api.InjectRequest{
		Fault: s.Inject, On: s.On.Selector(s.fault.Object), Params: s.With, Mode: s.Mode, For: api.Duration(s.For.At(r.speed)), Seed: r.seed(s, res.Index),
	})
	if lease.ID != "" {
		r.leases = append(r.leases, lease.ID)
		if s.As != "" {
			r.named[s.As] = lease.ID
		}
	}
	if err != nil {
		return err
	}
	own.Event, res.Event = lease.Seq, lease.Seq
	if slices.Contains(s.fault.Needs, fault.Children) {
		r.killed = own
	}
	r.did(lease.Seq)
	res.Verdict, res.Message = result.Passed, leaseText(lease)
	if lease.State == "failed" {
		res.Verdict = result.Errored
	}
	return nil
}

// seed returns the seed of a step: different for each step, the same for each run.
func (r *run) seed(s *Step, index int) uint64 {
	if s.Seed != nil {
		return *s.Seed
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d/", r.scenario.Metadata.Name, index) // a hash never fails
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, r.options.Seed))
	return max(h.Sum64(), 1)
}

// leaseText describes a lease: f1: worker-1: power off (is on).
func leaseText(lease api.Lease) string {
	var parts []string
	for _, t := range lease.Targets {
		text := t.Name
		if t.Does != "" {
			text += ": " + t.Does
		}
		if t.Error != "" {
			text += ": " + t.Error
		}
		parts = append(parts, text)
	}
	if len(parts) > 5 {
		parts = append(parts[:5], fmt.Sprintf("and %d more", len(parts)-5))
	}
	return strings.TrimSuffix(lease.ID+": "+strings.Join(parts, "; "), ": ")
}

// did records an action on the sandbox: latencies are counted from it.
func (r *run) did(seq uint64) { r.acted, r.actedBy = time.Now(), seq }

// since returns the time that latencies are counted from: that of the event, if it arrived.
func (r *run) since(v *expect.View) time.Time {
	if e, ok := v.World.Event(r.actedBy); ok {
		return e.Time
	}
	return r.acted
}

// heal heals faults of earlier steps.
func (r *run) heal(ctx context.Context, s *Step, own *expect.Mark, res *result.Step) error {
	var ids []string
	for _, name := range s.Heal {
		if name == "all" {
			ids = slices.Clone(r.leases)
			break
		}
		id, ok := r.named[name]
		if !ok {
			return fmt.Errorf("%s was not injected", name)
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		res.Verdict, res.Message = result.Passed, "nothing was injected"
		return nil
	}
	leases, err := r.session.sandbox.Heal(ctx, api.HealRequest{IDs: ids})
	if err != nil {
		return err
	}
	res.Verdict = result.Passed
	var parts []string
	for _, lease := range leases {
		text := lease.ID
		if lease.Note != "" {
			text += " " + lease.Note
		}
		if lease.State == "failed" {
			res.Verdict, text = result.Errored, "could not be healed: "+leaseText(lease)
		}
		parts = append(parts, text)
	}
	res.Message = strings.Join(parts, ", ")
	r.did(0)
	own.Event = r.awaitHealing(ctx, leases)
	res.Event, r.actedBy = own.Event, own.Event
	return nil
}

// eventDelay is how long the event of a change may take to arrive.
const eventDelay = time.Second

// awaitHealing waits for the event of a healing; 0 if it does not arrive.
func (r *run) awaitHealing(ctx context.Context, leases []api.Lease) uint64 {
	changed, done := r.session.listen()
	defer done()
	over := time.NewTimer(eventDelay)
	defer over.Stop()
	for {
		if seq := r.healing(leases); seq != 0 {
			return seq
		}
		select {
		case <-changed:
		case <-over.C:
			return 0
		case <-ctx.Done():
			return 0
		case <-r.session.gone:
			return 0
		}
	}
}

// healing returns the event of a healing, if it arrived.
func (r *run) healing(leases []api.Lease) (seq uint64) {
	r.session.with(func(v *expect.View) {
		for _, e := range v.World.After(r.began.Seq) {
			if e.Kind == "fault.healed" && slices.ContainsFunc(leases, func(l api.Lease) bool {
				return e.Cause == l.Seq || e.Object == (event.Object{Kind: "Lease", Name: l.ID})
			}) {
				seq = e.Seq
			}
		}
	})
	return seq
}

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
