package pane

import (
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// explained are the lines of an explanation, with times of day as they are at a place.
func explained(e *api.Explanation, in *time.Location, width int) []line {
	lines := of(e.Summary, title).wrapped(width, 2)
	for _, q := range e.Questions {
		lines = append(append(lines, line{}), question(q, width)...)
	}
	if len(e.Events) > 0 {
		lines = append(lines, line{}, of("Events", title))
		lines = append(lines, chain(e.Events, in, width)...)
	}
	return lines
}

// question is a question, its answer, what that rests on, and what to try.
func question(q api.Question, width int) []line {
	glyph, as := level(q.Level)
	l := of(glyph+" ", as)
	l.add(q.Ask, title)
	lines := l.wrapped(width, 2)
	l = line{}
	l.pad(2)
	l.add(q.Answer, as)
	lines = append(lines, l.wrapped(width, 2)...)
	for _, e := range q.Evidence {
		lines = append(lines, evidence(e, width)...)
	}
	if q.Try != "" {
		lines = append(lines, try(q.Try, 2, width)...)
	}
	return lines
}

func level(l event.Level) (glyph string, as look) {
	switch l {
	case event.Error:
		return theme.GlyphBad, bad
	case event.Warning:
		return theme.GlyphWarn, warn
	}
	return theme.GlyphGood, good
}

// evidence is one thing that was looked at: the verdict in a glyph and a word, what it was, what was there, who was asked.
func evidence(e api.Evidence, width int) []line {
	const indent, verdicts = 4, 11
	l := line{seq: e.Event}
	l.pad(indent)
	switch e.Verdict {
	case "ok":
		l.add("✓ ok", good)
	case "":
		l.add("· ", dim)
	case "unknown":
		l.add(theme.GlyphUnknown+" unknown", warn)
	default:
		l.add(theme.GlyphBad+" "+e.Verdict, bad)
	}
	l.pad(indent + verdicts)
	l.add(e.What, plain)
	if e.Found != "" {
		l.add(": ", dim)
		l.add(e.Found, field)
	}
	if e.Source != "" {
		l.add("  "+e.Source, dim)
	}
	if e.Event != 0 {
		l.add("  #"+strconv.FormatUint(e.Event, 10), link)
	}
	return l.wrapped(width, indent+verdicts)
}

// chain is events with the time that each took from its cause.
func chain(events []event.Event, in *time.Location, width int) []line {
	at := map[uint64]time.Time{}
	depth := map[uint64]int{}
	number, took := 0, 0
	hops := make([]string, len(events))
	for i, e := range events {
		at[e.Seq] = e.Time
		number = max(number, len(strconv.FormatUint(e.Seq, 10))+1)
		if cause, ok := at[e.Cause]; ok && e.Cause != 0 {
			hops[i] = "+" + text.Took(e.Time.Sub(cause))
			depth[e.Seq] = min(depth[e.Cause]+1, 8)
		}
		took = max(took, text.Width(hops[i]))
	}
	var lines []line
	for i, e := range events {
		l := line{seq: e.Seq}
		l.pad(2)
		l.add(e.Time.In(in).Format("15:04:05.000"), dim)
		l.add(text.Right(hops[i], took+1)+" ", plain)
		l.add(text.Right("#"+strconv.FormatUint(e.Seq, 10), number)+" ", link)
		if d := depth[e.Seq]; d > 0 {
			l.add(strings.Repeat("  ", d-1)+theme.GlyphCause+" ", dim)
		}
		from := l.width
		l.add(object(e.Object), plane(e.Plane))
		as := plain
		switch e.Level {
		case event.Warning:
			as = warn
		case event.Error:
			as = bad
		}
		l.add(" "+e.Message, as)
		lines = append(lines, l.wrapped(width, from)...)
	}
	return lines
}

func plane(p event.Plane) look {
	switch p {
	case event.PlaneVSphere:
		return vsphere
	case event.PlaneKubernetes:
		return kube
	}
	return sandbox
}

// object is what an event is about: "VM us/worker-1".
func object(o event.Object) string {
	name := o.Name
	if o.VCenter != "" && o.VCenter != o.Name {
		name = o.VCenter + "/" + name
	}
	return strings.TrimSpace(o.Kind + " " + name)
}
