package gate

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
)

// NewHandler is a gate that does not listen.
func NewHandler(next http.Handler, opts Options, rules ...Rule) (http.Handler, error) {
	opts.Logger = slog.New(slog.DiscardHandler)
	g := &Gate{next: next, opts: opts, stats: newStats(), recent: newRing(256)}
	for _, r := range rules {
		e, err := g.compile(r)
		if err != nil {
			return nil, err
		}
		g.rules = append(g.rules, e)
	}
	g.enforce()
	return http.HandlerFunc(g.handle), nil
}

// Actions returns one value of each kind of action, and its name.
func Actions() map[string]Action {
	names := make(map[string]Action)
	for _, a := range []Action{
		Outage{}, Refuse{}, BlackHole{}, Hang{}, Latency{}, HTTPStatus{}, Throttle{}, Reset{}, Fault{}, RESTError{}, FailTask{}, DropSession{},
	} {
		names[a.key()] = a
	}
	return names
}

// GiveBack lets others have the address of a gate that is down.
func (g *Gate) GiveBack() {
	g.change.Lock()
	defer g.change.Unlock()
	g.giveBack()
}

// Clear removes all rules, as [Gate.Remove] does. The mode stays.
func (g *Gate) Clear(ctx context.Context) error {
	for _, r := range g.Rules() {
		if err := g.Remove(ctx, r.ID); err != nil {
			return err
		}
	}
	return nil
}

// NewHandlerOf is [NewHandler], with its gate.
func NewHandlerOf(next http.Handler, opts Options) (http.Handler, *Gate) {
	opts.Logger = slog.New(slog.DiscardHandler)
	g := &Gate{next: next, opts: opts, stats: newStats(), recent: newRing(256)}
	g.enforce()
	return http.HandlerFunc(g.handle), g
}

// AllocsOfNoTap is what the hooks of taps allocate without one.
func AllocsOfNoTap() float64 {
	c := &call{gate: new(Gate)}
	c.answer = &answer{call: c}
	return testing.AllocsPerRun(100, func() {
		c.listen()
		c.answer.hear([]byte("text"))
		c.report()
	})
}
