package timeline

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
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
