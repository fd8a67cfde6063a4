package gate

import (
	"context"
	"fmt"
	"net"
)

// Mode returns the mode in force.
func (g *Gate) Mode() Mode {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mode
}

func (g *Gate) setMode(m Mode) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode = m
}

// Set changes the mode and returns when it is in force: after Down no connection is left, after leaving Down the
// address is listened on again, unless a rule has it otherwise. It fails, and leaves the mode as it was, when the mode is
// malformed, the gate is closed or the address cannot be had back before ctx ends or two seconds pass.
//
// A mode is a rule about all calls that comes before the others: Slow is [Latency], Hung is [Hang], Down is [Outage].
func (g *Gate) Set(ctx context.Context, to Mode) error {
	to, err := to.normal()
	if err != nil {
		return err
	}
	g.change.Lock()
	defer g.change.Unlock()
	if g.closed {
		return fmt.Errorf("gate %s: %w", g.addr, net.ErrClosed)
	}
	from, old := g.Mode(), g.modeRule
	if from == to {
		return nil
	}
	g.modeRule = nil
	if action := to.action(); action != nil {
		g.modeRule = g.newEntry(Rule{Name: "mode " + to.String(), Action: action})
	}
	if err := g.listenFor(ctx); err != nil {
		g.modeRule = old
		return err
	}
	g.setMode(to)
	// Calls learn of the new mode before they are cut or released, so that none is answered on the way down.
	g.enforce()
	release(old)
	g.settle()
	if g.opts.OnMode != nil {
		g.opts.OnMode(from, to)
	}
	return nil
}

// action is what a mode does to calls; nil when Up.
func (m Mode) action() Action {
	switch m.State {
	case Slow:
		return Latency{Delay: m.Delay}
	case Hung:
		return Hang{}
	case Down:
		return Outage{}
	default:
		return nil
	}
}
