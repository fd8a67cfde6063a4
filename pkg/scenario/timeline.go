package scenario

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Timeline describes a scenario without anything that differs between runs: its steps with their verdicts and, under each, the
// events that it caused, indented by cause. Effects of the same event are grouped by object, each in its own order; repeated ones
// appear once. It has no times, numbers and messages.
func Timeline(s *result.Scenario) string {
	t := &timeline{byCause: map[uint64][]event.Event{}}
	for _, e := range s.Events {
		t.byCause[e.Cause] = append(t.byCause[e.Cause], e)
	}
	for _, step := range s.Steps {
		fmt.Fprintf(&t.b, "%s %s: %s\n", step.Action, step.Text, step.Verdict)
		if step.Action == string(ActionInject) && step.Event != 0 {
			t.caused(step.Event, 1)
		}
	}
	return t.b.String()
}

type timeline struct {
	b       strings.Builder
	byCause map[uint64][]event.Event
}

// caused writes what an event caused.
func (t *timeline) caused(seq uint64, depth int) {
	events := slices.Clone(t.byCause[seq])
	slices.SortStableFunc(events, func(a, b event.Event) int { return cmp.Compare(subject(a), subject(b)) })
	seen := map[string]bool{}
	for _, e := range events {
		line := strings.TrimSpace(e.Kind + " " + subject(e))
		if e.Seq <= seq || seen[line] || depth > 50 {
			continue
		}
		seen[line] = true
		t.b.WriteString(strings.Repeat("  ", depth) + line + "\n")
		t.caused(e.Seq, depth+1)
	}
}

// subject returns the object of an event; for a lease, its step.
func subject(e event.Event) string {
	if e.Object.Kind == "Lease" {
		return ""
	}
	return objectName(e.Object)
}

// catchUp polls what no event reports, and returns when all that was counted, measured and logged up to now is known.
func (r *run) catchUp(ctx context.Context) {
	if r.needs.polled() {
		r.session.ask(ctx, r.needs)
	}
	if len(r.needs.logs) > 0 {
		r.logs.catchUp(ctx)
	}
}

// mark records the current state, for later counts.
func (r *run) mark(ctx context.Context) *expect.Mark {
	r.catchUp(ctx)
	m := &expect.Mark{Time: time.Now(), Lines: map[string]int{}, Restarts: map[string]int{}}
	r.session.with(func(v *expect.View) {
		m.Seq, m.Calls, m.Samples = v.World.LastEvent(), v.Calls, maps.Clone(v.Samples)
		for name, lines := range v.Lines {
			m.Lines[name] = len(lines)
		}
		for _, c := range world.Values[api.Component](v.World, world.Component) {
			m.Restarts[c.Name] = c.Restarts
		}
	})
	return m
}

// marksFor returns the marks of a step: a never counts from its own beginning, everything else from that of the scenario; restarts
// from the last injection of a fault that ends processes on purpose, as the same component may have been killed before.
func (r *run) marksFor(s *Step, own *expect.Mark) expect.Marks {
	known, killed := maps.Clone(r.marks), r.killed
	return func(name string) *expect.Mark {
		if name == expect.SinceProcess {
			name = ""
			if killed != nil && s.Action != ActionNever {
				return killed
			}
		}
		switch {
		case name == expect.SinceStep, name == "" && s.Action == ActionNever:
			return own
		case name == "", name == expect.SinceStart:
			return r.began
		}
		return known[name]
	}
}

// needs are what a scenario must poll.
type needs struct {
	calls      bool
	metrics    []string
	logs       []string
	components map[string]bool
}

// needsOf collects the needs of all statements.
func needsOf(s *Scenario) needs {
	n := needs{components: map[string]bool{}}
	add := func(list *[]string, kind, name string) {
		if !n.components[kind+name] {
			n.components[kind+name] = true
			*list = append(*list, name)
		}
	}
	for _, step := range s.Steps {
		x := step.Statement()
		if x == nil {
			continue
		}
		x.Walk(func(x *expect.Expectation) {
			switch {
			case x.Calls != nil:
				n.calls = true
			case x.Metric != nil:
				add(&n.metrics, "metric ", x.Metric.Component)
			case x.Log != nil:
				add(&n.logs, "log ", x.Log.Component)
			}
		})
	}
	return n
}

// polled reports whether an expectation needs polling.
func (n needs) polled() bool { return n.calls || len(n.metrics) > 0 }

// ask polls once. The last value of a component that does not answer stays.
func (s *session) ask(ctx context.Context, n needs) {
	s.asking.Lock()
	defer s.asking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if n.calls {
		if calls, err := s.sandbox.Calls(ctx); err == nil {
			s.refresh(func(v *expect.View) { v.Calls = calls })
		}
	}
	for _, component := range n.metrics {
		if text, err := s.sandbox.Metrics(ctx, component); err == nil {
			samples := expect.ParseSamples(string(text))
			s.refresh(func(v *expect.View) { v.Samples[component] = samples })
		}
	}
}

// poll polls until ctx ends.
func (s *session) poll(ctx context.Context, n needs) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.ask(ctx, n)
		}
	}
}

// watcher evaluates one expectation. All fields except changed are guarded by the session's lock.
type watcher struct {
	tracker expect.Tracker
	sighting
	looked bool
	// changed has a value after a change.
	changed chan struct{}
}

// sighting is the finding of a watcher.
type sighting struct {
	// Met reports whether it is met now, Since is when that changed.
	Met   bool
	Since time.Time
	// Event is the one that decided it.
	Event uint64
	// Ever reports whether it has ever been met, First when that was for the first time, Then what it found.
	Ever       bool
	First      time.Time
	FirstEvent uint64
	Then       []string
}

func (w *watcher) look(v *expect.View) {
	f := w.tracker.Evaluate(v)
	if !w.looked || f.Met != w.Met {
		w.looked, w.Met, w.Since, w.Event = true, f.Met, time.Now(), f.Event
	}
	if f.Met && !w.Ever {
		w.Ever, w.First, w.FirstEvent, w.Then = true, w.Since, f.Event, w.tracker.Describe(v)
	}
	notify.Wake(w.changed)
}
