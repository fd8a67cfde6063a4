package gate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// ErrNoRule is for an [ID] that is not, or no longer, that of a rule.
var ErrNoRule = errors.New("no such rule")

// Add puts a rule in force, after those that are there, and returns when it is. It stays, and is listed, until
// [Gate.Remove], also when it is spent or its window has closed. A malformed rule is refused with all that is wrong with
// it, one that needs a hook that the gate does not have likewise.
func (g *Gate) Add(r Rule) (ID, error) {
	e, err := g.compile(r)
	if err != nil {
		return 0, err
	}
	g.change.Lock()
	defer g.change.Unlock()
	if g.closed {
		return 0, fmt.Errorf("gate %s: %w", g.addr, net.ErrClosed)
	}
	g.lastID++
	e.id = g.lastID
	g.rules = append(g.rules, e)
	if r.Window.From > 0 {
		e.stage = Waiting
	}
	g.enforce()
	g.settle()
	if r.Window != (Window{}) {
		g.windows.Go(func() { g.watch(e) })
	}
	return e.id, nil
}

// Remove ends a rule: calls that it holds go on or are reset, as the action says, and an address that it had given up is
// listened on again. It fails, and leaves the rule as it was, when there is none of that ID ([ErrNoRule]) or the address
// cannot be had back before ctx ends or two seconds pass.
func (g *Gate) Remove(ctx context.Context, id ID) error {
	return g.remove(ctx, func(e *entry) bool { return e.id == id }, fmt.Errorf("gate %s: rule %d: %w", g.addr, id, ErrNoRule))
}

// Clear removes all rules, as [Gate.Remove] does one. The mode stays.
func (g *Gate) Clear(ctx context.Context) error {
	return g.remove(ctx, func(*entry) bool { return true }, nil)
}

func (g *Gate) remove(ctx context.Context, which func(*entry) bool, none error) error {
	g.change.Lock()
	defer g.change.Unlock()
	all := g.rules
	var gone, stay []*entry
	for _, e := range all {
		if which(e) {
			gone = append(gone, e)
		} else {
			stay = append(stay, e)
		}
	}
	if len(gone) == 0 {
		return none
	}
	g.rules = stay
	if err := g.listenFor(ctx); err != nil {
		g.rules = all
		return err
	}
	g.enforce()
	release(gone...)
	g.settle()
	return nil
}

// Rules returns the rules in order, with what they have done so far.
func (g *Gate) Rules() []Status {
	g.change.Lock()
	defer g.change.Unlock()
	list := make([]Status, 0, len(g.rules))
	for _, e := range g.rules {
		list = append(list, e.status())
	}
	return list
}

// table is what calls and connections are held against.
type table struct {
	entries []*entry
	// late is set when some of them happen to answers, too.
	late bool
	// conns happen to new connections.
	conns []*entry
}

// enforce makes a new table of mode and rules; g.change is held.
func (g *Gate) enforce() {
	t := new(table)
	for _, e := range g.inForce() {
		if e.rule.Match.whole() {
			switch e.rule.Action.(type) {
			case Refuse:
				t.conns = append(t.conns, e)
				continue
			case BlackHole:
				t.conns = append(t.conns, e)
			}
		}
		t.entries = append(t.entries, e)
		t.late = t.late || late(e.rule.Action)
	}
	g.table.Store(t)
}

// inForce returns mode and rules whose window is open; g.change is held.
func (g *Gate) inForce() []*entry {
	var open []*entry
	if g.modeRule != nil {
		open = append(open, g.modeRule)
	}
	for _, e := range g.rules {
		if e.stage == Active {
			open = append(open, e)
		}
	}
	return open
}

// watch opens and closes a rule's window.
func (g *Gate) watch(e *entry) {
	w := e.rule.Window
	if w.From > 0 {
		if !e.sleep(w.From) {
			return
		}
		g.change.Lock()
		if !e.over() {
			e.stage = Active
			g.enforce()
			g.settle()
		}
		g.change.Unlock()
	}
	if w.Until == 0 || !e.sleep(w.Until-w.From) {
		return
	}
	g.change.Lock()
	defer g.change.Unlock()
	if e.over() {
		return
	}
	e.stage = Ended
	g.enforce()
	release(e)
	for !g.closed {
		err := g.listenFor(g.life)
		if err == nil {
			g.settle()
			return
		}
		// Others have their turn: one of them may have a reason to stay away from the address.
		g.opts.Logger.Error("gate cannot listen again", "addr", g.addr, "error", err)
		g.change.Unlock()
		g.pause(time.Second)
		g.change.Lock()
	}
}

// pause waits for d or the end of the gate.
func (g *Gate) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-g.life.Done():
	}
}

// release lets go of what entries hold; nil ones are left out.
func release(entries ...*entry) {
	for _, e := range slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return e == nil || e.over() }) {
		close(e.done)
	}
}
