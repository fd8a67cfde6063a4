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
	// cut means that the run ended before its time was over.
	cut bool
	// missed is the count of gaps at its beginning.
	missed uint64
}

// never checks that something does not happen: for a time, or during later steps.
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
			r.catchUp(ctx) // with the last changes
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

// happened describes what must not have happened.
func (r *run) happened(w *watcher, s *Step, now sighting, res *result.Step) {
	res.Verdict, res.Message, res.Event = result.Failed, "it was true: "+strings.Join(now.Then, "; "), now.FirstEvent
	r.session.with(func(v *expect.View) {
		if since := r.since(v); now.First.After(since) {
			res.Latency = now.First.Sub(since)
		}
		res.Detail = detail("never "+s.Never.String(), now.Then, w.tracker.Related(v))
	})
}

// passed returns that something has not happened, if nothing was missed.
func (r *run) passed(missedBefore uint64, res *result.Step) {
	if res.Verdict = result.Passed; r.session.missed() != missedBefore {
		res.Verdict, res.Message = result.Errored, "unknown: the sandbox sent changes faster than they were read, and some were missed"
	}
}

// settleNevers sets the verdict of those that were violated.
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

// endNevers sets the verdict of those that are over, and of those that were violated.
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
