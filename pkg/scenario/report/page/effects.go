package page

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
)

// Effect is an event and what it made happen.
type Effect struct {
	Seq     uint64
	Group   string
	After   string // since its cause; since the beginning for a first cause
	Kind    string
	Object  string
	Message string
	Level   event.Level
	Effects []*Effect
}

// mostEffects is how many of them are told.
const mostEffects = 120

// effects are the first causes among events, each with all that followed, and how many of them there was no room for. What
// had no effect is left out.
func effects(c scale, events []event.Event) (roots []*Effect, more int) {
	type node struct {
		*Effect
		at time.Time
	}
	caused := map[uint64]bool{}
	for _, e := range events {
		caused[e.Cause] = true
	}
	all := map[uint64]node{}
	for _, e := range events {
		cause, known := all[e.Cause]
		if !known && !caused[e.Seq] {
			continue
		}
		if len(all) >= mostEffects {
			more++
			continue
		}
		g, _ := lane(e)
		n := node{&Effect{
			Seq: e.Seq, Group: g.ID, After: report.Took(e.Time.Sub(c.zero)), Kind: report.Line(e.Kind),
			Object: report.Line(report.Object(e.Object)), Message: report.Line(e.Message), Level: e.Level,
		}, e.Time}
		all[e.Seq] = n
		if known {
			n.After = "+" + report.Took(e.Time.Sub(cause.at))
			cause.Effects = append(cause.Effects, n.Effect)
		} else {
			roots = append(roots, n.Effect)
		}
	}
	return roots, more
}
