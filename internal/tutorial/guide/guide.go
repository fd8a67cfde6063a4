package guide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

// Guide is a walk through a page. Page, Runner.Binary, Shelf and Out are required.
type Guide struct {
	Page   *tutorial.Page
	Runner tutorial.Runner // Dir is the guide's to set
	Shelf  Shelf

	// Lines are what the reader types; closed is the end of it. Not used with Yes.
	Lines <-chan string
	Out   io.Writer
	Look  Look

	// Env is what a reader pastes into another terminal to be in the same world; Again goes on with the page, Stop ends it.
	Env, Again, Stop string

	// From is the step to go on at, by number or heading; empty is where the reader was.
	From string
	// Yes is the answer to all questions: everything is run, and the first thing that differs ends it.
	Yes bool
}

// End is how a walk ended.
type End int

// The ends. Only a finished one has left nothing; others are gone on with.
const (
	Left     End = iota // the reader went; the place is kept
	Finished            // the page is done, and its world is gone
)

// Failed is that a page that was run without a reader is not as it says. Its world is gone.
type Failed struct{ Err error }

// Error is that of the reason.
func (f *Failed) Error() string { return f.Err.Error() }

// Unwrap returns the reason, such as a *tutorial.Mismatch.
func (f *Failed) Unwrap() error { return f.Err }

// walk is a guide on its way.
type walk struct {
	Guide
	screen  *screen
	stops   []stop
	place   Place
	session *tutorial.Session
	auto    int // stops before this one are run without asking
}

// Run walks, from where the reader was or wants to be. It returns when the page is done, when the reader goes, or when ctx
// ends, with its error; the place and what is detached are kept but in the first case. It is an error of its own, and
// nothing is kept, when Yes is set and something differs: a [Failed]. While another process walks, it is [ErrGuided]; a step
// that is not there is a [NoStep].
func (g Guide) Run(ctx context.Context) (end End, err error) {
	release, err := g.Shelf.take(g.Page)
	if err != nil {
		return Left, err
	}
	defer release()
	w := &walk{Guide: g, stops: stops(g.Page), screen: &screen{look: g.Look, out: g.Out}}
	if err := w.begin(); err != nil {
		return Left, err
	}
	g.Runner.Dir = g.Shelf.World(g.Page)
	if w.session, err = g.Runner.Open(g.Page); err != nil {
		return Left, err
	}
	err = w.all(ctx)
	switch {
	case err == nil:
		return Finished, w.finish(ctx)
	case g.Yes && ctx.Err() == nil:
		return Left, errors.Join(&Failed{err}, w.clear(ctx))
	}
	return Left, w.leave(ctx, err)
}

// begin finds the place to begin at.
func (g *walk) begin() error {
	dir := g.Shelf.World(g.Page)
	kept, err := readPlace(dir)
	if err != nil {
		return fmt.Errorf("%w; %q begins anew", err, g.Again+" --again")
	}
	fresh := kept == nil
	if !fresh {
		g.place = *kept
	}
	g.place.Page = g.Page.Name
	moved := !fresh && g.place.fit(g.stops)
	if moved {
		g.place.Doubts, g.place.Theirs, g.place.Values = nil, nil, nil // they name lines of another page
	}
	if g.From != "" {
		to, err := find(g.stops, g.From)
		if err != nil {
			if fresh {
				_ = os.RemoveAll(dir) // there is nothing in it but the lock
				_ = os.Remove(g.Shelf.Dir)
			}
			return err
		}
		g.from(to)
	}
	g.welcome(fresh, moved)
	return nil
}

// from has the walk begin at a stop.
func (g *walk) from(to int) {
	for _, s := range g.stops[min(g.place.Stop, to):to] {
		if s.Block != nil {
			g.auto = to // what is before it is run first, if the reader wants that
			return
		}
	}
	g.place.Stop, g.place.Command = to, 0
}

func (g *walk) welcome(fresh, moved bool) {
	s := g.screen
	s.line(bold, g.Page.Title)
	long := ""
	if n := g.Page.Minutes(); n > 0 {
		long = fmt.Sprintf(" · about %d minute%s", n, or(n == 1, "", "s"))
	}
	s.say("%s · %d steps%s", g.Page.Name, Steps(g.Page), long)
	if !g.Yes {
		s.say("")
		s.words(0, "", "Enter runs each command here. To type them yourself, open another terminal, and there:")
		s.say("  %s", g.Env)
		if fresh {
			s.words(0, "", "Files of this tutorial, and what you make beside them, are removed at the end. Go whenever you want, with q or Ctrl-C: your place is kept.")
		}
	}
	if moved && g.From == "" {
		s.words(amber, "!", "This page has changed since you left it; you go on at the beginning of your step.")
	}
}

// all is every stop from the place on.
func (g *walk) all(ctx context.Context) error {
	if err := g.resume(ctx); err != nil {
		return err
	}
	for ; g.place.Stop < len(g.stops); g.place.Stop, g.place.Command = g.place.Stop+1, 0 {
		if err := g.keep(); err != nil {
			return err
		}
		if err := g.stop(ctx, g.stops[g.place.Stop]); err != nil {
			return err
		}
	}
	return g.screen.err
}

// keep writes the place down.
func (g *walk) keep() error {
	g.place.Step = 0
	if g.place.Stop < len(g.stops) {
		g.place.Step = g.stops[g.place.Stop].number
	}
	g.place.Text = text(g.stops, g.place)
	return g.place.write(g.Shelf.World(g.Page))
}

// asks says whether the reader is asked at the stop.
func (g *walk) asks() bool { return !g.Yes && g.place.Stop >= g.auto }

func (g *walk) stop(ctx context.Context, s stop) error {
	if s.first {
		g.heading(s)
	}
	switch {
	case s.Block != nil:
		return g.block(ctx, s)
	case s.Offer != nil:
		return g.offer(ctx, s)
	}
	if g.asks() || g.Yes {
		if s.Text != "" {
			g.screen.text(s.Text)
		}
		if s.last && s.number > 0 && g.asks() {
			_, err := g.ask(ctx, answer{"n", or(g.place.Stop == len(g.stops)-1, "end, and clean up", "go on")})
			return err
		}
	}
	return ctx.Err()
}

func or(yes bool, this, that string) string {
	if yes {
		return this
	}
	return that
}

func (g *walk) heading(s stop) {
	if s.step.Heading != "" {
		g.screen.line(bold, fmt.Sprintf("\n── %d of %d · %s ──", s.number, Steps(g.Page), s.step.Heading))
	}
}
