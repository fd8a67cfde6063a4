package gate

import (
	"log/slog"
	"net/http"
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

// Actions returns the names of actions in files.
func Actions() (names []string) {
	for _, a := range actions() {
		names = append(names, a.key())
	}
	return names
}

// GiveBack lets others have the address of a gate that is down.
func (g *Gate) GiveBack() {
	g.change.Lock()
	defer g.change.Unlock()
	g.giveBack()
}
