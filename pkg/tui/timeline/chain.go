package timeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// chain is a first cause and all its effects, as a tree in the order of the log.
type chain struct {
	window
	root  uint64
	links []link
	last  event.Event // the last effect, or the root without effects
}

// link is an event of a chain.
type link struct {
	seq    uint64
	parent int  // its cause among the links; -1 for the root
	end    bool // it is the last effect of its cause
}

// newChain makes the chain of an event, and selects it.
func newChain(w *world.World, of *causes, seq uint64) *chain {
	c := &chain{root: of.root(w, seq)}
	c.build(of)
	for _, l := range c.links {
		if e, ok := w.Event(l.seq); ok {
			c.note(e)
		}
	}
	c.choose(seq)
	return c
}

// note adds an event to the chain.
func (c *chain) note(e event.Event) {
	if c.last.Seq == 0 || !e.Time.Before(c.last.Time) {
		c.last = e
	}
}

// build makes the links, and again when there are more.
func (c *chain) build(of *causes) {
	was, had := c.selected()
	c.links = c.links[:0]
	for stack := []link{{seq: c.root, parent: -1, end: true}}; len(stack) > 0; {
		next := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		c.links = append(c.links, next)
		at, all := len(c.links)-1, of.effects(next.seq)
		for i, a := range slices.Backward(all) { // the first is on top of the stack
			stack = append(stack, link{seq: a, parent: at, end: i == len(all)-1})
		}
	}
	if had {
		c.choose(was.seq)
	}
}

// grow adds new events that belong to the chain.
func (c *chain) grow(of *causes, events []event.Event) {
	grown := false
	for _, e := range events {
		if e.Cause != 0 && of.related(e.Seq, c.root) {
			c.note(e)
			grown = true
		}
	}
	if grown {
		c.build(of)
	}
}

// choose selects an event of the chain.
func (c *chain) choose(seq uint64) {
	for i, l := range c.links {
		if l.seq == seq {
			c.set(i, len(c.links))
			return
		}
	}
}

func (c *chain) selected() (link, bool) {
	if c.cursor < 0 || c.cursor >= len(c.links) {
		return link{}, false
	}
	return c.links[c.cursor], true
}

// branches draws the lines from the cause of a link to it, in at most so many cells: a deeper tree is cut off on the left.
func (c *chain) branches(i, width int) string {
	l := c.links[i]
	if l.parent < 0 {
		return ""
	}
	parts := []string{"├ "}
	if l.end {
		parts[0] = "└ "
	}
	for p := l.parent; c.links[p].parent >= 0; p = c.links[p].parent {
		if 2*(len(parts)+1) > width {
			parts = append(parts, "… ")
			break
		}
		if c.links[p].end {
			parts = append(parts, "  ")
		} else {
			parts = append(parts, "│ ")
		}
	}
	var b strings.Builder
	for _, part := range slices.Backward(parts) {
		b.WriteString(part)
	}
	return b.String()
}

// maxGap is the number of missing events after which the links are dropped: they are too old then.
const maxGap = 1 << 20

// causes maps each event to those that it caused; the log has the opposite direction. It takes events in their order.
type causes struct {
	first, last uint64   // the Seq of the oldest event that is linked, and of the newest
	links       []effect // by Seq, from first on; of events that are missing, empty
	faults      []uint64 // the injected ones
}

// effect is what is known of an event.
type effect struct {
	root    uint64   // its first cause, itself if it has none; it may be forgotten
	effects []uint64 // what it made happen at once
}

// note links an event to its cause.
func (c *causes) note(e event.Event) {
	if c.links == nil || e.Seq > c.last+maxGap {
		*c = causes{first: e.Seq, last: e.Seq - 1}
	}
	for c.last++; c.last < e.Seq; c.last++ {
		c.links = append(c.links, effect{})
	}
	own := effect{root: e.Seq}
	if cause := c.at(e.Cause); e.Cause < e.Seq && cause.root != 0 {
		own.root = cause.root
		c.links[e.Cause-c.first].effects = append(cause.effects, e.Seq)
	}
	c.links = append(c.links, own)
	if e.Kind == "fault.injected" {
		c.faults = append(c.faults, e.Seq)
	}
}

// at returns what is known of an event, or the zero value.
func (c *causes) at(seq uint64) effect {
	if seq < c.first || seq-c.first >= uint64(len(c.links)) {
		return effect{}
	}
	return c.links[seq-c.first]
}

// effects returns the direct effects of an event.
func (c *causes) effects(seq uint64) []uint64 { return c.at(seq).effects }

// forget drops events that the log has dropped.
func (c *causes) forget(oldest uint64) {
	if oldest <= c.first {
		return
	}
	n := min(oldest-c.first, uint64(len(c.links)))
	c.links, c.first = c.links[n:], c.first+n
	gone, _ := slices.BinarySearch(c.faults, oldest)
	c.faults = c.faults[gone:]
}

// fault returns the next or the previous injection.
func (c *causes) fault(seq uint64, after bool) (uint64, bool) {
	i, there := slices.BinarySearch(c.faults, seq)
	switch {
	case !after:
		i--
	case there:
		i++
	}
	if i < 0 || i >= len(c.faults) {
		return 0, false
	}
	return c.faults[i], true
}

// related reports whether two events have the same first cause.
func (c *causes) related(a, b uint64) bool { return c.at(a).root == c.at(b).root }

// root returns the first known cause of an event.
func (c *causes) root(w *world.World, seq uint64) uint64 {
	if r := c.at(seq).root; r != 0 && r >= c.first {
		return r
	}
	for {
		e, ok := w.Event(seq)
		if !ok || e.Cause >= seq || c.at(e.Cause).root == 0 {
			return seq
		}
		seq = e.Cause
	}
}

// chainTitle returns the first cause, the last effect, and the time between them.
func (s *Screen) chainTitle() string {
	l, w := s.line(false), s.state.World()
	first, _ := w.Event(s.chain.root)
	last := s.chain.last
	l.put("chain  ", s.theme.Title)
	l.put(fmt.Sprintf("%s #%d", text.Clean(first.Kind), first.Seq), laneOf(first).style(s.theme))
	switch n := len(s.chain.links) - 1; n {
	case 0:
		l.put(" has had no effects", s.theme.Dim)
	case 1:
		l.put(" → 1 effect, ", s.theme.Text)
	default:
		l.put(fmt.Sprintf(" → %s effects, ", text.Count(uint64(n))), s.theme.Text)
	}
	if last.Seq != first.Seq {
		l.put(latency(last.Time.Sub(first.Time)), s.theme.Title)
		l.put(" to ", s.theme.Text)
		l.put(fmt.Sprintf("%s #%d", text.Clean(last.Kind), last.Seq), laneOf(last).style(s.theme))
	}
	if first.Cause != 0 {
		l.put(fmt.Sprintf("  its cause #%d is not kept", first.Cause), s.theme.Warn)
	}
	return l.String()
}

func (s *Screen) chainHeader() string {
	h := " "
	if s.width >= wideWidth {
		h += text.Fit("TIME", s.columns().time) + " "
	}
	return s.theme.Header.Render(text.Fit(h+"TOTAL    HOP      LANE  EVENT", s.width))
}

// chainRows returns the visible rows of the chain.
func (s *Screen) chainRows(height int) []string {
	var lines []string
	for i := s.chain.top; i < len(s.chain.links) && i < s.chain.top+height; i++ {
		lines = append(lines, s.chainRow(i))
	}
	return append(lines, make([]string, max(0, height-len(lines)))...)
}

func (s *Screen) chainRow(i int) string {
	const hop = 8
	t, w, c := s.theme, s.state.World(), s.columns()
	l := s.line(i == s.chain.cursor)
	e, _ := w.Event(s.chain.links[i].seq)
	first, _ := w.Event(s.chain.root)
	l.put(" ", t.Text)
	if s.width >= wideWidth {
		l.cell(s.clock(e.Time, c), c.time, t.Dim)
	}
	total := ""
	if e.Seq != first.Seq {
		total = latency(e.Time.Sub(first.Time))
	}
	l.cell(total, hop, t.Text)
	since, style := s.since(e)
	l.cell(since, hop, style)
	l.cell(tag(e), 3, laneOf(e).style(t))
	glyph, _ := level(e.Level)
	l.cell(glyph, 1, levelStyle(e.Level, t))
	l.put(s.chain.branches(i, (s.width-l.used)/3), t.Border)
	l.put(text.Clean(e.Kind)+" ", laneOf(e).style(t))
	l.put(short(objectName(e.Object))+"  ", t.Text)
	l.put(short(e.Message), levelStyle(e.Level, t))
	return l.String()
}

// causeLine describes the cause of an event, and its effects.
func (s *Screen) causeLine(l *line, seq, cause uint64) {
	if cause != 0 {
		l.put(fmt.Sprintf("  %s #%d", theme.GlyphCause, cause), s.theme.Link)
		if e, ok := s.state.World().Event(cause); ok {
			l.put(" "+text.Clean(e.Kind), s.theme.Text)
		} else {
			l.put(" not kept", s.theme.Dim)
		}
		if e, ok := s.state.World().Event(seq); ok {
			if c, ok := s.state.World().Event(cause); ok {
				l.put(" "+latency(e.Time.Sub(c.Time)), s.theme.Text)
			}
		}
	}
	switch n := len(s.causes.effects(seq)); n {
	case 0:
	case 1:
		l.put("  1 direct effect", s.theme.Dim)
	default:
		l.put(fmt.Sprintf("  %s direct effects", text.Count(uint64(n))), s.theme.Dim)
	}
}
