package guide

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

// typed waits until the reader has typed the command at the place, and the world is as it is to be then.
func (g *walk) typed(ctx context.Context, s stop) error {
	b, c := s.Block, &s.Block.Commands[g.place.Command]
	last := g.place.Command == len(b.Commands)-1
	switch {
	case sets(c.Text):
		g.screen.words(dim, "   ", "Type it in your terminal. It is run here as well, for it is your shell that it changes, and this one.")
		return g.thenRun(ctx, s, "typed")
	case last && b.Check != "":
		return g.watch(ctx, s)
	case b.Wait > 0 || reads(c.Text):
		g.screen.words(dim, "   ", "Type it in your terminal. It changes nothing, so it is run here as well then, to compare.")
		return g.thenRun(ctx, s, "typed; compare")
	}
	g.screen.words(dim, "   ", "Type it in your terminal. What it changes shows later; this one is taken on your word.")
	key, err := g.ask(ctx, answer{"n", "typed"}, answer{"r", "run it for me, and what follows"}, answer{"s", "skip"})
	switch key {
	case "r":
		g.place.Typing = false
		return g.run(ctx, s)
	case "s":
		g.skip(s)
	case "n":
		g.place.settle(c.Line)
		if b.Background && last {
			g.place.Theirs = append(g.place.Theirs, c.Line)
		}
	}
	return err
}

// introduce says how the reader's terminal comes to be as the page has it by now.
func (g *walk) introduce(ctx context.Context, s stop) {
	g.screen.words(0, "   ", "In your terminal, once:")
	g.screen.say("      %s", g.Env)
	before(g.stops, g.place, func(n int, b *tutorial.Block, i int) {
		if c := &b.Commands[i]; b.Terminal == s.Block.Terminal && sets(c.Text) && g.session.Why(ctx, g.stops[n].step, b) == "" {
			g.screen.say("      %s", g.again(c))
		}
	})
}

// thenRun runs the command when the reader says so.
func (g *walk) thenRun(ctx context.Context, s stop, done string) error {
	key, err := g.ask(ctx, answer{"n", done}, answer{"r", "run it for me, and what follows"}, answer{"s", "skip"})
	switch key {
	case "r":
		g.place.Typing = false
	case "s":
		g.skip(s)
		return nil
	}
	if err != nil {
		return err
	}
	return g.run(ctx, s)
}

// watch looks at the world until it is as it is to be; the reader need not say anything.
func (g *walk) watch(ctx context.Context, s stop) error {
	b := s.Block
	for {
		g.screen.words(dim, "   ", "Type it in your terminal. It is noticed here when it is done. (enter: something else)")
		done, err := g.until(ctx, b.Line, b.Check)
		if err != nil {
			return err
		}
		if done {
			g.place.settle(b.Commands[g.place.Command].Line)
			g.screen.line(green, "  ✓ seen: it is done")
			return nil
		}
		g.screen.words(0, "   ", "Not so yet: "+b.Check)
		key, err := g.ask(ctx, answer{"w", "wait on"}, answer{"r", "run it for me, and what follows"}, answer{"s", "skip"})
		switch key {
		case "r":
			g.place.Typing = false
			return g.run(ctx, s)
		case "s":
			g.skip(s)
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// until asks again and again whether a command ends with 0, until the reader ends a line.
func (g *walk) until(ctx context.Context, line int, command string) (done bool, err error) {
	g.forget(ctx)
	defer g.screen.awake("not so yet, after %s; enter for something else")()
	for {
		_, m, err := g.session.Aside(ctx, line, command, nil)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil:
			return false, err
		case m == nil:
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case _, ok := <-g.Lines:
			if !ok {
				return false, errQuit
			}
			g.screen.answered()
			return false, nil
		case <-time.After(g.every()):
		}
	}
}
