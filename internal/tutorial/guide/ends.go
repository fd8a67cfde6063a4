package guide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

// resume shows the reader's place, restarts what ended with the last guide, and asks about skipped steps before From.
func (g *walk) resume(ctx context.Context) error {
	if g.place.Stop > 0 || g.place.Command > 0 {
		if err := g.restart(ctx); err != nil {
			return err
		}
		s := g.stops[min(g.place.Stop, len(g.stops)-1)]
		ahead := g.auto > g.place.Stop // the reader asks for another step
		g.screen.say("\nYou %s at step %d of %d.", or(ahead, "were", "continue"), s.number, Steps(g.Page))
		if !s.first && !ahead {
			g.heading(s)
		}
		if p := g.place.Stop - 1; !s.first && s.Text == "" && p >= 0 && g.stops[p].Text != "" && g.asks() {
			g.screen.text(g.stops[p].Text)
		}
		if g.place.Typing && g.asks() && s.Block != nil {
			g.introduce(ctx, s)
		}
	}
	if g.auto <= g.place.Stop || g.Yes {
		g.auto = 0
		return nil
	}
	from, to := max(1, g.stops[g.place.Stop].number), g.stops[g.auto].number
	undone := fmt.Sprintf("steps %d to %d have", from, to-1)
	if from == to-1 {
		undone = fmt.Sprintf("step %d has", from)
	}
	g.screen.words(amber, "!", fmt.Sprintf("Step %d builds on what is before it, and %s not been finished.", to, undone))
	key, err := g.ask(ctx, answer{"r", "run them now"}, answer{"s", "skip them"})
	if key == "s" {
		begin := g.place
		g.place.Stop, g.place.Command = g.auto, 0
		before(g.stops, g.place, func(n int, b *tutorial.Block, i int) {
			if n > begin.Stop || n == begin.Stop && i >= begin.Command {
				if !sets(b.Commands[i].Text) && g.session.Why(ctx, g.stops[n].step, b) == "" {
					g.place.doubt(g.stops[n].number, &b.Commands[i], true)
				}
			}
		})
	}
	return err
}

// restart restarts what was in the background at the place; if that was a sandbox, the page returns to it.
func (g *walk) restart(ctx context.Context) error {
	type background struct {
		stop, command int
		block         *tutorial.Block
	}
	open := map[int]*background{}
	before(g.stops, g.place, func(n int, b *tutorial.Block, i int) {
		switch {
		case b.Commands[i].Interrupt:
			delete(open, b.Terminal)
		case slices.Contains(g.place.Theirs, b.Commands[i].Line): // it still runs, or the reader knows
		case b.Background && i == len(b.Commands)-1 && !g.doubted(b.Commands[i].Line) && g.session.Why(ctx, g.stops[n].step, b) == "":
			open[b.Terminal] = &background{n, i, b}
		}
	})
	back := false
	for _, o := range open {
		if boots(o.block.Commands[o.command].Text) && o.stop <= g.place.Stop {
			g.place.Stop, g.place.Command, back = o.stop, o.command, true
		}
	}
	if names := g.living(); back && len(names) > 0 {
		// They depend on it, and later steps boot them again.
		g.screen.words(amber, "!", "Ends too: sandbox "+strings.Join(names, ", "))
		awake := g.screen.awake("ending it, for %s")
		_, _, err := g.session.Aside(ctx, g.stops[g.place.Stop].Block.Line, "vsphere-sandbox down --all", nil)
		awake()
		if err != nil {
			return err
		}
	}
	for _, n := range slices.SortedFunc(maps.Keys(open), func(a, b int) int { return cmp.Compare(open[a].stop, open[b].stop) }) {
		o := open[n]
		c := &o.block.Commands[o.command]
		if o.stop > g.place.Stop || o.stop == g.place.Stop && o.command >= g.place.Command {
			if boots(c.Text) {
				g.screen.words(amber, "!", fmt.Sprintf("The sandbox of line %d ended with the last guide, since it ran in its terminal. You go back there: %s", c.Line, c.Text))
			}
			continue
		}
		g.screen.say("Restarted in terminal %d: %s", o.block.Terminal, c.Text)
		if err := g.ready(ctx, o.block); err != nil {
			return err
		}
		awake := g.screen.awake("starting it, for %s")
		_, m, err := g.session.Try(ctx, o.block, o.command, nil)
		awake()
		if err != nil || m != nil {
			g.place.doubt(g.stops[o.stop].number, c, false)
			g.screen.words(amber, "!", "It differs from the page.")
		}
	}
	return ctx.Err()
}

// leave keeps the place, and prints what keeps running and what ends. err is the reason: nil if the reader quits.
func (g *walk) leave(ctx context.Context, why error) error {
	var ended []string
	for _, n := range g.session.Terminals() {
		if c := g.session.Running(n); c != nil {
			ended = append(ended, c.Text)
		}
	}
	kept := g.keep()
	s := g.screen
	awake := s.awake("ending what runs in the guide's terminals, for %s")
	_ = g.session.Leave() // it fails if a shell cannot be killed, which has ended
	awake()
	where := "before the first step"
	if g.place.Step > 0 {
		where = fmt.Sprintf("at step %d of %d", g.place.Step, Steps(g.Page))
	}
	s.say("\nYour place is kept, %s.", where)
	for _, c := range ended {
		s.say("  ended with this terminal: %s", c)
	}
	if names := g.living(); len(names) > 0 {
		s.say("  still runs: sandbox %s", strings.Join(names, ", "))
	}
	s.say("  continue: %s\n  end it:   %s", g.Again, g.Stop)
	if errors.Is(why, errQuit) {
		why = nil
	}
	if ctx.Err() != nil {
		why = ctx.Err()
	}
	return errors.Join(why, kept)
}

// living returns the sandboxes of this world.
func (g *walk) living() []string {
	entries, _ := os.ReadDir(tutorial.WorldAt(g.Shelf.World(g.Page)).State) // the directory may be missing
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// finish removes the world after the last stop, and prints what was skipped.
func (g *walk) finish(ctx context.Context) error {
	s := g.screen
	if err := g.clear(ctx); err != nil {
		return err
	}
	if n := len(g.place.Doubts); n > 0 {
		s.words(0, "", fmt.Sprintf("Done, with %d command%s skipped or different from the page.", n, or(n == 1, "", "s")))
		return nil
	}
	s.line(green, "Done, and everything was as on the page.")
	return nil
}

func (g *walk) clear(ctx context.Context) error {
	g.screen.say("")
	begin := time.Now()
	stop := g.screen.awake("cleaning up, for %s")
	_ = g.session.Leave()
	left, err := g.Shelf.remove(context.WithoutCancel(ctx), g.Page, g.Runner.Binary)
	stop()
	if ended := Cleared(left); ended != "" {
		g.screen.say("%s", ended)
	}
	if err == nil {
		g.screen.line(dim, fmt.Sprintf("  Cleaned up in %s: nothing of this tutorial is left.", time.Since(begin).Round(100*time.Millisecond)))
	}
	return err
}

// Cleared returns what [Shelf.Stop] has ended, a line each, without a final line break; empty if there was nothing.
func Cleared(left []string) string {
	var b []string
	for _, what := range left {
		switch {
		case strings.HasPrefix(what, tutorial.Yours):
			b = append(b, "  lives on: "+what)
		case !strings.HasPrefix(what, "process "): // processes are parts of what is named
			b = append(b, "  still existed: "+what)
		}
	}
	return strings.Join(b, "\n")
}
