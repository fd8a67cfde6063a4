package timeline

import (
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

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
