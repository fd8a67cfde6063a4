package faults

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// The states of leases.
const (
	applying = "applying"
	active   = "active"
	healing  = "healing"
	healed   = "healed"
	failed   = "failed"
)

// glyphActive marks what is broken on purpose, which is neither good nor bad.
const glyphActive = "◆"

// handful is the number of healed leases to show.
const handful = 5

// leases are the leases of a state: first those that are not healed, oldest first; then the latest healed ones, newest first.
type leases struct {
	all    []api.Lease
	broken int // how many are not healed
	failed int // and of these could not be
	healed int // how many were healed, shown or not
}

// leasesOf returns the leases of a state that match a filter.
func leasesOf(s *fold.State, filter string) (ls leases) {
	var over []api.Lease
	for _, l := range world.Values[api.Lease](s.World(), world.Lease) {
		if l.State == healed {
			ls.healed++
		} else {
			ls.broken++
		}
		if l.State == failed {
			ls.failed++
		}
		switch {
		case filter != "" && !text.Found(filter, leaseWords(l)...):
		case l.State == healed:
			over = append(over, l)
		default:
			ls.all = append(ls.all, l)
		}
	}
	slices.SortStableFunc(ls.all, func(a, b api.Lease) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Seq, b.Seq)) })
	slices.SortStableFunc(over, func(a, b api.Lease) int { return cmp.Or(ended(b).Compare(ended(a)), cmp.Compare(b.Seq, a.Seq)) })
	ls.all = append(ls.all, over[:min(handful, len(over))]...)
	return ls
}

func leaseWords(l api.Lease) []string {
	words := []string{l.ID, l.Fault, l.State}
	for _, t := range l.Targets {
		words = append(words, t.Kind, target(t), t.Does, t.Error)
	}
	return words
}

// ended returns when a lease was healed, or the zero time.
func ended(l api.Lease) time.Time {
	if l.Ended == nil {
		return time.Time{}
	}
	return *l.Ended
}

// leaseState returns a state of a lease as a glyph and a word.
func leaseState(state string) string {
	glyph := theme.GlyphUnknown
	switch state {
	case applying, healing:
		glyph = theme.GlyphWarn
	case active:
		glyph = glyphActive
	case healed:
		glyph = theme.GlyphOff
	case failed:
		glyph = theme.GlyphBad
	}
	return glyph + " " + text.Clean(state)
}

func leaseStyle(th *theme.Theme, state string) theme.Style {
	switch state {
	case healed:
		return th.Dim
	case failed:
		return th.Bad
	}
	return th.Warn
}

// remains returns the remaining time of a lease, or the time since its end.
func remains(l api.Lease, now time.Time) string {
	switch {
	case l.State == healed && l.Ended != nil:
		return text.Ago(now.Sub(*l.Ended)) + " ago"
	case l.State == healed:
		return "over"
	case l.State == healing:
		return "now"
	case l.State == failed:
		return "tried again"
	case l.Until == nil:
		return "∞ until healed"
	case !l.Until.After(now):
		return "now"
	}
	return "in " + left(l.Until.Sub(now))
}

// left formats a countdown in full seconds, which reaches 0 only at the end.
func left(d time.Duration) string {
	full := d.Truncate(time.Second)
	if full < d {
		full += time.Second
	}
	return text.Took(full)
}

// targets returns the targets of a lease, with kinds if these differ.
func targets(l api.Lease) string {
	names := make([]string, len(l.Targets))
	for i, t := range l.Targets {
		names[i] = target(t)
	}
	return text.Clean(strings.Join(names, ", "))
}

// troubles returns the errors of the targets, each once.
func troubles(l api.Lease) string {
	var all []string
	for _, t := range l.Targets {
		if t.Error != "" && !slices.Contains(all, t.Error) {
			all = append(all, t.Error)
		}
	}
	return text.Clean(strings.Join(all, "; "))
}

func leaseColumns() []table.Column {
	return []table.Column{
		{Title: "STATE", Width: 10},
		{Title: "LEASE", Width: 5},
		{Title: "FAULT", Width: 16, Flex: 2},
		{Title: "TARGETS", Width: 18, Flex: 3, Drop: 2},
		{Title: "SINCE", Width: 6, Right: true, Drop: 3},
		{Title: "ENDS", Width: 14, Drop: 1},
		{Title: "ERROR", Width: 40, Flex: 4, Drop: 4},
	}
}

// leaseRow returns the row of a lease.
func (s *Screen) leaseRow(l *api.Lease) table.Row {
	return table.Row{Key: l.ID, Cells: func() []table.Cell {
		th, now := s.theme, s.state.Now()
		plain := th.Text
		if l.State == healed {
			plain = th.Dim
		}
		return []table.Cell{
			{Text: leaseState(l.State), Style: leaseStyle(th, l.State)},
			{Text: text.Clean(l.ID), Style: plain},
			{Text: text.Clean(l.Fault), Style: plain},
			{Text: targets(*l), Style: plain},
			{Text: text.Ago(now.Sub(l.Since)), Style: th.Dim},
			{Text: remains(*l, now), Style: plain},
			{Text: troubles(*l), Style: th.Bad},
		}
	}}
}

// object returns the kind of a fault's targets as in subjects: "vm" for VM.
func object(k api.FaultKind) string { return strings.ToLower(k.Object) }

// nothing is the target of faults of the whole sandbox, which need no choice.
const nothing = "sandbox"

// related returns the subjects whose faults belong to a subject: itself, the VM of a node, the node of a VM; for a component also
// the sandbox, which has one cloud controller manager and one control plane.
func related(s api.Subject, state *fold.State) []api.Subject {
	all := []api.Subject{s}
	if s.Kind == "component" {
		return append(all, api.Subject{Kind: nothing})
	}
	for _, n := range world.Values[api.Node](state.World(), world.Node) {
		switch {
		case n.VM == "":
		case s.Kind == "node" && n.Name == s.Name:
			all = append(all, api.Subject{Kind: "vm", VCenter: n.VCenter, Name: n.VM})
		case s.Kind == "vm" && n.VM == s.Name && (s.VCenter == "" || n.VCenter == s.VCenter):
			all = append(all, api.Subject{Kind: "node", VCenter: n.VCenter, Name: n.Name})
		}
	}
	if len(all) > 1 && s.Kind == "node" { // what happens to a VM comes first: the node follows it
		all[0], all[1] = all[1], all[0]
	}
	return all
}
