package scenario

import (
	"context"
	"maps"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
)

// catchUp asks for what nobody tells, and returns when all that was counted, measured and logged up to now is known.
func (r *run) catchUp(ctx context.Context) {
	if r.needs.polled() {
		r.session.ask(ctx, r.needs)
	}
	if len(r.needs.logs) > 0 {
		r.logs.catchUp(ctx)
	}
}

// mark takes down the moment, for what is counted from here on.
func (r *run) mark(ctx context.Context) *expect.Mark {
	r.catchUp(ctx)
	m := &expect.Mark{Time: time.Now(), Lines: map[string]int{}}
	r.session.with(func(v *expect.View) {
		m.Seq, m.Calls, m.Samples = v.World.LastEvent(), v.Calls, maps.Clone(v.Samples)
		for name, lines := range v.Lines {
			m.Lines[name] = len(lines)
		}
	})
	return m
}

// marksFor finds moments for a step: a never counts from its own beginning, everything else from that of the scenario.
func (r *run) marksFor(s *Step, own *expect.Mark) expect.Marks {
	known := maps.Clone(r.marks)
	return func(name string) *expect.Mark {
		switch {
		case name == expect.SinceStep, name == "" && s.Action == ActionNever:
			return own
		case name == "", name == expect.SinceStart:
			return r.began
		}
		return known[name]
	}
}
