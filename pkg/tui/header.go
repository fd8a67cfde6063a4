package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// header returns the first line: the sandbox, its state, and its age.
func (m *Model) header() string {
	a, t := m.state.About(), m.theme
	left := []string{t.Title.Render(text.Clean(cmp.Or(a.Sandbox, "vsphere-sandbox")))}
	if a.Scenario != "" {
		left = append(left, t.Text.Render(text.Clean(a.Scenario)))
	}
	if g := ground(a.Ground); g != "" {
		style := t.Dim
		if a.Ground.Real() == api.RealWritable {
			style = t.Warn // actions change real VMs
		}
		left = append(left, style.Render(text.Clean(g)))
	}
	if a.Speed > 0 {
		left = append(left, t.Dim.Render(fmt.Sprintf("speed %g", a.Speed)))
	}
	phase, style := m.phase()
	left = append(left, style.Render(phase))

	clock := ""
	if now := m.state.Now(); !now.IsZero() {
		clock = t.Dim.Render(now.Format("15:04:05"))
	}
	if m.play != nil {
		clock = t.Dim.Render(m.play.String())
	}
	room := m.width - text.Width(clock) - 2
	counts, wide := m.counts(), 0
	for _, c := range counts {
		wide += 2 + text.Width(c)
	}
	join := func() string { return " " + strings.Join(left, t.Dim.Render(" · ")) }
	line := join()
	if a.Speed > 0 && text.Width(line)+wide > room { // it never changes
		left = slices.Delete(left, len(left)-2, len(left)-1)
		line = join()
	}
	line = text.Cut(line, room)
	for _, c := range counts { // as far as there is room
		if text.Width(line)+2+text.Width(c) > room {
			break
		}
		line += "  " + c
	}
	return text.Fit(line, room) + " " + clock + " "
}

// ground returns the ground of a sandbox other than the default: its own cluster and simulated vCenters.
func ground(g api.Ground) string {
	var words []string
	if g.Cluster != "" && g.Cluster != api.ClusterEmbedded {
		words = append(words, map[string]string{api.ClusterNone: "no cluster", api.ClusterPod: "existing cluster", api.ClusterExisting: "existing cluster"}[g.Cluster])
		words[0] = cmp.Or(words[0], g.Cluster)
	}
	if real := g.Real(); real != "" {
		words = append(words, "real vCenters, "+real)
	}
	return strings.Join(words, ", ")
}

// phase returns the phase of the sandbox in a word or two.
func (m *Model) phase() (string, theme.Style) {
	if cut := m.state.IsCut(); cut == errEnded { //nolint:errorlint // it is never wrapped
		return theme.GlyphBad + " ended", m.theme.Bad
	} else if cut != nil {
		phase := theme.GlyphUnknown + " not connected"
		if !m.updatedAt.IsZero() {
			phase += ", " + text.Ago(m.state.Now().Sub(m.updatedAt)) + " old"
		}
		return phase, m.theme.Bad
	}
	if !m.state.World().Synced() {
		return theme.GlyphWarn + " connecting", m.theme.Warn
	}
	m.phaseAt.take(m.state.World())
	switch m.phaseAt.kind {
	case "sandbox.stopping":
		return theme.GlyphOff + " stopping", m.theme.Warn
	case "boot.failed":
		return theme.GlyphBad + " boot failed", m.theme.Bad
	case "boot.step":
		step, _, _ := strings.Cut(m.phaseAt.text, ": up in ")
		return theme.GlyphWarn + " booting, " + text.Clean(step) + " up", m.theme.Warn
	}
	return theme.GlyphGood + " ready", m.theme.Good
}

// phaseAt is the newest event about the life of the sandbox.
type phaseAt struct {
	of         *world.World
	seen       uint64 // the Seq of the last event that was read
	kind, text string
}

// take reads the new events.
func (p *phaseAt) take(w *world.World) {
	if last := w.LastEvent(); p.of != w || last < p.seen {
		*p = phaseAt{of: w}
	} else if last == p.seen {
		return
	}
	events := w.After(p.seen)
	p.seen = w.LastEvent()
	for i := len(events) - 1; i >= 0; i-- {
		switch e := &events[i]; e.Kind {
		case "sandbox.ready", "sandbox.stopping", "boot.failed", "boot.step":
			p.kind, p.text = e.Kind, e.Message
			return
		}
	}
}

// counted are the inputs of the counts.
type counted struct {
	of      *world.World
	version uint64
	theme   *theme.Theme
	counts  []string
}

// counts returns how many objects are healthy, of how many, and the problems.
func (m *Model) counts() []string {
	now := counted{of: m.state.World(), version: m.state.Version(world.Node, world.VCenter, world.Lease, fold.Findings), theme: m.theme}
	if now.of != m.counted.of || now.version != m.counted.version || now.theme != m.counted.theme {
		now.counts = m.count()
		m.counted = now
	}
	return m.counted.counts
}

func (m *Model) count() []string {
	w, t := m.state.World(), m.theme
	of := func(what string, good, all int) string {
		glyph, style := theme.GlyphGood, t.Good
		if good < all {
			glyph, style = theme.GlyphBad, t.Bad
		}
		return t.Dim.Render(what+" ") + style.Render(fmt.Sprintf("%s %d/%d", glyph, good, all))
	}
	ready, nodes := 0, 0
	for _, row := range w.Rows(world.Node) {
		nodes++
		if n := row.Value.(api.Node); n.Registered && n.Ready == "True" {
			ready++
		}
	}
	up, slow, vcenters := 0, 0, 0
	for _, row := range w.Rows(world.VCenter) {
		vcenters++
		switch row.Value.(api.VCenter).Gate {
		case "up":
			up++
		case "slow":
			slow++
		}
	}
	leases := 0
	for _, row := range w.Rows(world.Lease) {
		if s := row.Value.(api.Lease).State; s != "healed" {
			leases++
		}
	}
	all := []string{of("nodes", ready, nodes), of("vCenters", up, vcenters)}
	if slow > 0 && up+slow == vcenters { // all answer, some slowly
		all[1] = t.Dim.Render("vCenters ") + t.Warn.Render(fmt.Sprintf("%s %d/%d", theme.GlyphWarn, up, vcenters))
	}
	switch {
	case leases == 1:
		all = append(all, t.Warn.Render(theme.GlyphWarn+" 1 fault"))
	case leases > 1:
		all = append(all, t.Warn.Render(fmt.Sprintf("%s %d faults", theme.GlyphWarn, leases)))
	}
	if n := len(m.state.Findings()); n > 0 {
		all = append(all, t.Conflict.Render(fmt.Sprintf("%s %d", theme.GlyphConflict, n)))
	}
	return all
}

// tabs returns the second line.
func (m *Model) tabs() string {
	var b strings.Builder
	for s := range intent.Screens {
		b.WriteString(" ")
		style := m.theme.Tab
		if s == m.at {
			style = m.theme.TabOn
		}
		b.WriteString(style.Render(tabName(s)))
		b.WriteString(" ")
	}
	right := ""
	switch {
	case m.play != nil:
		right = " " + m.theme.Warn.Render("recording")
	case m.readOnly:
		right = " " + m.theme.Warn.Render("read-only")
	}
	if f := m.filters[m.at]; f != "" && !m.typing {
		room := m.width - text.Width(b.String()) - text.Width(right) - 2
		right = m.theme.Match.Render(text.Cut("/"+text.Clean(f), room)) + right
	}
	room := m.width - text.Width(right) - 1
	return text.Fit(b.String(), room) + right + " "
}

func tabName(s intent.Screen) string { return fmt.Sprintf("%d %s", s+1, s) }

// tabAt returns the screen whose tab is at a column.
func (m *Model) tabAt(x int) (intent.Screen, bool) {
	at := 0
	for s := range intent.Screens {
		at += text.Width(tabName(s)) + 2
		if x < at {
			return s, true
		}
	}
	return 0, false
}
