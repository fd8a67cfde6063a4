package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// reportEvery is the minimum time between two reports of what a step waits for.
const reportEvery = 200 * time.Millisecond

// expect waits until the statement is true, and has stayed true for the required time.
func (r *run) expect(ctx context.Context, s *Step, own *expect.Mark, res *result.Step) error {
	w := r.session.watch(s.Statement(), r.marksFor(s, own))
	defer r.session.unwatch(w)
	stay := s.For.At(r.speed)
	deadline := time.NewTimer(time.Duration(float64(s.within().At(r.speed))*r.options.Patience) + stay)
	defer deadline.Stop()
	stayed := time.NewTimer(time.Hour)
	defer stayed.Stop()
	var text string
	var last time.Time
	for {
		now := r.session.state(w)
		if now.Met && time.Since(now.Since) >= stay {
			r.met(w, now, res)
			return nil
		}
		if now.Met {
			stayed.Reset(stay - time.Since(now.Since))
		} else if was := strings.Join(r.session.was(w), "; "); was != text && time.Since(last) >= reportEvery {
			text, last = was, time.Now()
			r.announce(result.Update{Change: result.Waiting, Step: *res, Text: text})
		}
		select {
		case <-w.changed:
		case <-stayed.C:
		case <-deadline.C:
			if now := r.session.state(w); now.Met && time.Since(now.Since) >= stay {
				r.met(w, now, res) // with the last changes
				return nil
			}
			r.unmet(w, s, res)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-r.session.gone:
			return r.session.err
		}
	}
}

// met records that and when the statement became true.
func (r *run) met(w *watcher, now sighting, res *result.Step) {
	r.session.with(func(v *expect.View) {
		since := r.since(v)
		at := now.Since
		if res.Event = now.Event; res.Event == 0 {
			res.Event = about(w.tracker.Related(v), since, at)
		}
		if e, ok := v.World.Event(res.Event); ok {
			at = e.Time
		}
		if !at.Before(since) {
			res.Latency = at.Sub(since)
		}
		res.Message = strings.Join(w.tracker.Was(v), "; ")
	})
	res.Verdict = result.Passed
}

// nearby is how far apart a row and the event about the same change may arrive.
const nearby = 250 * time.Millisecond

// about returns the event that explains a row: the last one that was not later.
func about(events []event.Event, since, at time.Time) (seq uint64) {
	for _, e := range events {
		if !e.Time.Before(since) && e.Time.Before(at.Add(nearby)) {
			seq = e.Seq
		}
	}
	return seq
}

// unmet describes what was expected and what there was.
func (r *run) unmet(w *watcher, s *Step, res *result.Step) {
	was := r.session.was(w)
	now := r.session.state(w)
	res.Verdict, res.Message = result.Failed, strings.Join(was, "; ")
	switch {
	case now.Met:
		res.Message = fmt.Sprintf("it became true, but did not stay true for %s", s.For)
	case now.Ever && s.For.IsZero():
		res.Message += " (it was true for a moment)"
	}
	r.session.with(func(v *expect.View) { res.Detail = detail(s.Statement().String(), was, w.tracker.Related(v)) })
}

// detail describes a failed expectation in full.
func detail(expected string, was []string, related []event.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "expected: %s\n", expected)
	for i, line := range was {
		before := "was:      "
		if i > 0 {
			before = "          "
		}
		fmt.Fprintf(&b, "%s%s\n", before, line)
	}
	if len(related) > 0 {
		b.WriteString("the last events about it:\n")
		for _, e := range related {
			fmt.Fprintf(&b, "  %s #%d %s %s: %s\n", e.Time.Format("15:04:05.000"), e.Seq, e.Kind, objectName(e.Object), e.Message)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func objectName(o event.Object) string {
	if o.VCenter != "" && o.VCenter != o.Name {
		return o.VCenter + "/" + o.Name
	}
	return o.Name
}
