package scenario

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// guard is a never that still runs during later steps.
type guard struct {
	step    *Step
	watcher *watcher
	index   int
	result  result.Step
	// cut: the run has ended before it was over.
	cut bool
	// missed is what had been missed when it began.
	missed uint64
}

// never makes sure that something does not happen: for a time, or while later steps run.
func (r *run) never(ctx context.Context, s *Step, own *expect.Mark, res *result.Step) error {
	before := r.session.missed()
	w := r.session.watch(s.Never, r.marksFor(s, own))
	if s.Until != "" {
		r.nevers = append(r.nevers, &guard{step: s, watcher: w, index: res.Index - 1, result: *res, missed: before})
		return nil
	}
	defer r.session.unwatch(w)
	over := time.NewTimer(s.For.At(r.speed))
	defer over.Stop()
	for {
		if now := r.session.state(w); now.Ever {
			r.happened(w, s, now, res)
			return nil
		}
		select {
		case <-w.changed:
		case <-over.C:
			r.catchUp(ctx) // with what happened in the last moment
			if now := r.session.state(w); now.Ever {
				r.happened(w, s, now, res)
				return nil
			}
			r.passed(before, res)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-r.session.gone:
			return r.session.err
		}
	}
}

// happened says what there was that should not have been.
func (r *run) happened(w *watcher, s *Step, now sighting, res *result.Step) {
	res.Verdict, res.Message, res.Event = result.Failed, "it was so: "+strings.Join(now.Then, "; "), now.FirstEvent
	r.session.with(func(v *expect.View) {
		if since := r.since(v); now.First.After(since) {
			res.Latency = now.First.Sub(since)
		}
		res.Detail = detail("never "+s.Never.String(), now.Then, w.tracker.Related(v))
	})
}

// passed says that something has not happened, if all that happened was seen.
func (r *run) passed(missedBefore uint64, res *result.Step) {
	if res.Verdict = result.Passed; r.session.missed() != missedBefore {
		res.Verdict, res.Message = result.Errored, "it cannot be said: the sandbox was faster than it could be followed, and something was missed"
	}
}

// settleNevers gives the verdict on those that were broken.
func (r *run) settleNevers() {
	r.nevers = slices.DeleteFunc(r.nevers, func(g *guard) bool {
		now := r.session.state(g.watcher)
		if !now.Ever {
			return false
		}
		r.happened(g.watcher, g.step, now, &g.result)
		r.release(g)
		return true
	})
}

// endNevers gives the verdict on those that are over, and on those that were broken.
func (r *run) endNevers(over func(*guard) bool) {
	r.settleNevers()
	r.nevers = slices.DeleteFunc(r.nevers, func(g *guard) bool {
		if !over(g) {
			return false
		}
		if r.passed(g.missed, &g.result); g.cut {
			g.result.Verdict, g.result.Message = result.Skipped, "interrupted"
		}
		r.release(g)
		return true
	})
}

func (r *run) release(g *guard) {
	r.session.unwatch(g.watcher)
	r.ended(g.index, g.result)
}
