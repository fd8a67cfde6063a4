package guide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

const (
	look     = time.Second      // between two checks
	checking = 30 * time.Second // time for a check to succeed after a command
)

// block runs the commands of a block, from the place on.
func (g *walk) block(ctx context.Context, s stop) error {
	b := s.Block
	awake := g.screen.awake("checking what this machine has, for %s")
	why := g.session.Why(ctx, s.step, b)
	awake()
	if why != "" {
		return g.leftOut(ctx, s, why)
	}
	if g.place.Command == 0 && b.Check != "" && g.asks() {
		if done, err := g.doneBefore(ctx, s); done || err != nil {
			return err
		}
	}
	rest := false // runs the rest of the block without asking
	for g.place.Command < len(b.Commands) {
		if err := g.keep(); err != nil {
			return err
		}
		var err error
		if rest, err = g.command(ctx, s, rest); err != nil {
			return err
		}
	}
	return nil
}

// leftOut shows what is not run here, and the reason.
func (g *walk) leftOut(ctx context.Context, s stop, why string) error {
	for i := range s.Block.Commands {
		c := &s.Block.Commands[i]
		g.screen.command(name(c))
		if s.Block.NotRun == "" {
			g.place.doubt(s.number, c, true)
		}
	}
	g.screen.words(amber, "  ↷", "Left out: "+why+".")
	if s.last && g.asks() {
		_, err := g.ask(ctx, answer{"n", "continue"})
		return err
	}
	return ctx.Err()
}

// doneBefore asks what to do about a block that is done already.
func (g *walk) doneBefore(ctx context.Context, s stop) (done bool, err error) {
	awake := g.screen.awake("checking whether this is done already, for %s")
	_, m, err := g.session.Aside(ctx, s.Block.Line, s.Block.Check, nil)
	awake()
	if err != nil || m != nil {
		return false, ctx.Err() // a broken check shows when it is needed
	}
	for i := range s.Block.Commands {
		g.screen.command(name(&s.Block.Commands[i]))
	}
	g.screen.words(amber, "  !", "This is done already ("+s.Block.Check+"). A second run may print something else than the page.")
	key, err := g.ask(ctx, answer{"n", "continue without it"}, answer{"r", "run it anyway"})
	return key == "n", err
}

// command runs one command, waits until it is typed, or skips it, and moves the place.
func (g *walk) command(ctx context.Context, s stop, rest bool) (onward bool, err error) {
	b, i := s.Block, g.place.Command
	c := &b.Commands[i]
	g.screen.command(name(c))
	if b.Terminal > 1 {
		g.screen.line(dim, fmt.Sprintf("    in terminal %d", b.Terminal))
	}
	key := "r"
	switch {
	case !g.asks() || rest:
	case g.place.Typing:
		key = "t"
	default:
		answers := []answer{{"r", "run it"}, {"t", "I type it"}, {"s", "skip"}}
		if len(b.Commands)-i > 1 {
			answers = []answer{answers[0], {"a", "all of this block"}, answers[1], answers[2]}
		}
		if key, err = g.ask(ctx, answers...); err != nil {
			return false, err
		}
	}
	switch key {
	case "a":
		rest = true
		err = g.run(ctx, s)
	case "r":
		err = g.run(ctx, s)
	case "t":
		if !g.place.Typing {
			g.introduce(ctx, s)
		}
		g.place.Typing = true
		err = g.typed(ctx, s)
	case "s":
		g.skip(s)
	}
	if err != nil {
		return false, err
	}
	g.place.Command++
	return rest, nil
}

func (g *walk) skip(s stop) {
	g.place.doubt(s.number, &s.Block.Commands[g.place.Command], true)
	g.screen.words(amber, "  ↷", "Skipped. What follows may differ from the page because of it.")
}

// run runs the command at the place until the result is as on the page, or the reader continues anyway.
func (g *walk) run(ctx context.Context, s stop) error {
	for {
		m, err := g.once(ctx, s)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && m == nil:
			g.place.settle(s.Block.Commands[g.place.Command].Line)
			g.remember(ctx, s.Block)
			g.screen.line(green, "  ✓ "+g.praise(s))
			return nil
		case g.Yes && m != nil:
			g.explain(s, m, nil)
			return m
		case g.Yes:
			return fmt.Errorf("%s:%d: $ %s: %w", g.Page.File, s.Block.Commands[g.place.Command].Line, name(&s.Block.Commands[g.place.Command]), err)
		}
		g.explain(s, m, err)
		again, err := g.differs(ctx, s, m)
		if err != nil || !again {
			return err
		}
	}
}

func (g *walk) praise(s stop) string {
	switch c := &s.Block.Commands[g.place.Command]; {
	case s.Block.Check != "" && g.place.Command == len(s.Block.Commands)-1:
		return "done, and verified"
	case len(c.Want) > 0 && s.Block.Wait > 0:
		return "now as on the page"
	case len(c.Want) > 0:
		return "as on the page"
	}
	return "done"
}

// differs asks what to do about a difference; again means another try.
func (g *walk) differs(ctx context.Context, s stop, m *tutorial.Mismatch) (again bool, err error) {
	c := &s.Block.Commands[g.place.Command]
	answers := []answer{{"r", "try again"}, {"c", "continue anyway"}}
	if m != nil && len(c.Want) > 0 {
		answers = append(answers, answer{"e", "what the page expects"})
	}
	for {
		key, err := g.ask(ctx, answers...)
		switch key {
		case "e":
			for _, line := range c.Want {
				g.screen.say("  | %s", line.Text)
			}
			continue
		case "c":
			g.place.doubt(s.number, c, false)
			g.screen.words(amber, "  ↷", "Continued. What follows may differ from the page because of it.")
		}
		return key == "r", err
	}
}

// once runs the command at the place as its block says, with its waits and its check.
func (g *walk) once(ctx context.Context, s stop) (*tutorial.Mismatch, error) {
	b, i := s.Block, g.place.Command
	c := &b.Commands[i]
	if err := g.ready(ctx, b); err != nil {
		return nil, err
	}
	running := g.session.Running(b.Terminal)
	switch {
	case c.Interrupt && running == nil:
		g.screen.say("  Nothing runs in terminal %d of the guide: there is nothing to interrupt.", b.Terminal)
		return nil, nil
	case !c.Interrupt && running != nil:
		g.screen.say("  Terminal %d runs %q, which is interrupted first.", b.Terminal, running.Text)
		stop := &tutorial.Block{Terminal: b.Terminal, Commands: []tutorial.Command{{Line: c.Line, Interrupt: true}}}
		if _, _, err := g.session.Try(ctx, stop, 0, g.screen); err != nil {
			return nil, err
		}
	}
	m, err := g.tried(ctx, b, i)
	if m != nil || err != nil || b.Check == "" || i < len(b.Commands)-1 {
		return m, err
	}
	return g.holds(ctx, b)
}

// tried runs a command, repeatedly if it has a wait; then it shows only the last output.
func (g *walk) tried(ctx context.Context, b *tutorial.Block, i int) (*tutorial.Mismatch, error) {
	if b.Wait == 0 {
		defer g.screen.awake("it has run for %s; Ctrl-C ends it, and keeps your place")()
		_, m, err := g.session.Try(ctx, b, i, g.screen)
		return m, err
	}
	defer g.screen.awake(fmt.Sprintf("not yet, after %%s of at most %s", b.Wait))()
	until := time.NewTimer(b.Wait)
	defer until.Stop()
	for first := true; ; first = false {
		ran, m, err := g.session.Try(ctx, b, i, nil)
		if m == nil || err != nil {
			_, _ = g.screen.Write([]byte(ran.Output))
			return m, err
		}
		if want := strings.TrimSpace(m.Want); first && want != "" {
			g.screen.line(dim, "    … looking for: "+want)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-until.C:
			_, _ = g.screen.Write([]byte(ran.Output))
			m.Waited = b.Wait
			return m, nil
		case <-time.After(g.every()):
		}
	}
}

// every is the time between two checks.
func (g *walk) every() time.Duration {
	if g.Runner.RetryInterval > 0 {
		return g.Runner.RetryInterval
	}
	return look
}

// holds repeats the check of a block until it succeeds.
func (g *walk) holds(ctx context.Context, b *tutorial.Block) (*tutorial.Mismatch, error) {
	long := max(b.Wait, checking)
	defer g.screen.awake(fmt.Sprintf("not so yet, after %%s of at most %s", long))()
	until := time.NewTimer(long)
	defer until.Stop()
	for first := true; ; first = false {
		_, m, err := g.session.Aside(ctx, b.Line, b.Check, nil)
		if m == nil || err != nil {
			return m, err
		}
		if first {
			g.screen.line(dim, "    … looking for: $ "+b.Check)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-until.C:
			m.Waited = long
			return m, nil
		case <-time.After(g.every()):
		}
	}
}

// ready brings a new terminal to the state that the page has reached.
func (g *walk) ready(ctx context.Context, b *tutorial.Block) error {
	if !g.session.Fresh(b.Terminal) {
		return nil
	}
	var errs []error
	before(g.stops, g.place, func(n int, of *tutorial.Block, i int) {
		c := &of.Commands[i]
		if of.Terminal != b.Terminal || !sets(c.Text) || g.doubted(c.Line) || g.session.Why(ctx, g.stops[n].step, of) != "" {
			return
		}
		again := &tutorial.Block{Terminal: of.Terminal, Commands: []tutorial.Command{{Line: c.Line, Text: g.again(c)}}}
		_, _, err := g.session.Try(ctx, again, 0, nil)
		errs = append(errs, err)
	})
	return errors.Join(errs...)
}

// remember keeps the output that the command at the place assigned to a variable: another run may print another value, and the
// rest of the page is about this one.
func (g *walk) remember(ctx context.Context, b *tutorial.Block) {
	c := &b.Commands[g.place.Command]
	variable := asked(c.Text)
	if variable == "" {
		return
	}
	report := &tutorial.Block{Terminal: b.Terminal, Commands: []tutorial.Command{{Line: c.Line, Text: `printf '%s\n' "$` + variable + `"`}}}
	ran, _, err := g.session.Try(ctx, report, 0, nil)
	value := strings.TrimRight(ran.Output, "\n")
	if err != nil || strings.Contains(value, "…") { // a path that is shown shortened
		return
	}
	if g.place.Values == nil {
		g.place.Values = map[int]string{}
	}
	g.place.Values[c.Line] = value
}

// again brings a new shell to the state after a command.
func (g *walk) again(c *tutorial.Command) string {
	if value, ok := g.place.Values[c.Line]; ok {
		return asked(c.Text) + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'"
	}
	return c.Text
}

func (g *walk) doubted(line int) bool {
	return slices.ContainsFunc(g.place.Doubts, func(d Doubt) bool { return d.Line == line && d.Skipped })
}

func name(c *tutorial.Command) string {
	if c.Interrupt {
		return "^C"
	}
	return c.Text
}
