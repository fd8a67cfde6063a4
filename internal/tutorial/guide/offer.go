package guide

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

// offer asks whether to break something, lets the reader look, and puts it right.
func (g *walk) offer(ctx context.Context, s stop) error {
	o := s.Offer
	if !g.asks() && !g.Yes {
		return nil
	}
	g.screen.line(bold, "\n  Break something?")
	if o.About != "" {
		g.screen.words(0, " ", o.About)
	}
	g.screen.command(o.Command)
	if g.asks() {
		if key, err := g.ask(ctx, answer{"n", "no, go on"}, answer{"y", "break it"}); key != "y" {
			return err
		}
	}
	broken := g.aside(ctx, o.Line, o.Command)
	err := g.admire(ctx, o, broken)
	if err == nil {
		if o.Why != "" && broken == nil {
			g.screen.words(0, " ", o.Why)
		}
		err = g.mend(ctx, o)
	} else {
		// Whoever goes meanwhile comes back to a world as the page has it.
		const bound = time.Minute
		inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
		defer cancel()
		g.screen.command(o.Undo)
		if undone := g.aside(inner, o.Line, o.Undo); undone != nil {
			err = errors.Join(err, undone)
		}
	}
	return err
}

// admire shows what is broken until the reader has seen it.
func (g *walk) admire(ctx context.Context, o *tutorial.Offer, broken error) error {
	if broken != nil {
		g.screen.words(red, "  ✗", "It could not be broken: "+broken.Error())
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if g.Yes && broken != nil {
		return broken
	}
	answers := []answer{{"u", "put it right"}}
	if o.Look != "" {
		answers = append(answers, answer{"l", "look again"})
	}
	for {
		if o.Look != "" && broken == nil {
			g.screen.command(o.Look)
			if err := g.aside(ctx, o.Line, o.Look); err != nil && g.Yes {
				return err
			}
		}
		if g.Yes {
			return nil
		}
		key, err := g.ask(ctx, answers...)
		if key != "l" {
			return err
		}
	}
}

// mend puts it right.
func (g *walk) mend(ctx context.Context, o *tutorial.Offer) error {
	for {
		g.screen.command(o.Undo)
		err := g.aside(ctx, o.Line, o.Undo)
		switch {
		case err == nil:
			g.screen.line(green, "  ✓ put right")
			return nil
		case ctx.Err() != nil || g.Yes:
			return err
		}
		g.screen.words(red, "  ✗", "It could not be put right: "+err.Error())
		if key, err := g.ask(ctx, answer{"r", "try again"}, answer{"g", "go on anyway"}); key != "r" {
			return err
		}
	}
}

// aside runs a command beside the page, for the reader to see.
func (g *walk) aside(ctx context.Context, line int, command string) error {
	defer g.screen.awake("it has run for %s")()
	_, m, err := g.session.Aside(ctx, line, command, g.screen)
	if m != nil {
		return fmt.Errorf("%s:%d: $ %s: exit status %d", g.Page.File, line, command, m.Exit)
	}
	return err
}
