package guide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

// Guide walks through a page. Page, Runner.Binary, Shelf and Out are required.
type Guide struct {
	Page   *tutorial.Page
	Runner tutorial.Runner // the guide sets Dir
	Shelf  Shelf

	// Lines are the lines that the reader types; it is closed at their end. Not used with Yes.
	Lines <-chan string
	Out   io.Writer
	Style Style

	// Env is what a reader pastes into another terminal to share the world, Again the command that continues with the page, Stop the
	// one that ends it.
	Env, Again, Stop string

	// From is the step to continue at, by number or heading; empty means the reader's place.
	From string
	// Yes answers all questions: everything runs, and the first difference ends the walk.
	Yes bool
}

// End is how a walk ends.
type End int

// The ends. Only Finished leaves nothing; the others can be continued.
const (
	Left     End = iota // the reader quit; the place is kept
	Finished            // the page is done, and its world is gone
)

// Failed is the error for a page that ran without a reader and differs. Its world is removed.
type Failed struct{ Err error }

// Error returns the text of the reason.
func (f *Failed) Error() string { return f.Err.Error() }

// Unwrap returns the reason, such as a *tutorial.Mismatch.
func (f *Failed) Unwrap() error { return f.Err }

// walk is the state of Run.
type walk struct {
	Guide
	screen  *screen
	stops   []stop
	place   Place
	session *tutorial.Session
	auto    int // stops before this one run without asking
	back    int // the stop that the answer "back" leads to; -1 for none
}

// Run walks from the reader's place, or From. It returns when the page is done, the reader quits, or ctx ends, with ctx's error;
// except when the page is done, the place and background programs are kept. With Yes, a difference ends it with a [Failed], and
// keeps nothing. If another process walks through the page, it returns [ErrGuided]; for an unknown step, a [NoStep].
func (g Guide) Run(ctx context.Context) (end End, err error) {
	release, err := g.Shelf.take(g.Page)
	if err != nil {
		return Left, err
	}
	defer release()
	w := &walk{Guide: g, stops: stops(g.Page), screen: &screen{look: g.Style, out: g.Out}, back: -1}
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
		return fmt.Errorf("%w; %q begins again", err, g.Again+" --again")
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
				_ = os.RemoveAll(dir) // it holds only the lock
				_ = os.Remove(g.Shelf.Dir)
			}
			return err
		}
		g.from(to)
	}
	g.welcome(fresh, moved)
	return nil
}

// from makes the walk begin at a stop.
func (g *walk) from(to int) {
	for _, s := range g.stops[min(g.place.Stop, to):to] {
		if s.Block != nil {
			g.auto = to // runs what is before it first, if the reader wants that
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
		s.words(amber, "!", "This page has changed since you left it; you continue at the beginning of your step.")
	}
}

// all yields every stop from the place on.
func (g *walk) all(ctx context.Context) error {
	if err := g.resume(ctx); err != nil {
		return err
	}
	for g.place.Stop < len(g.stops) {
		if err := g.keep(); err != nil {
			return err
		}
		g.back = g.before()
		switch err := g.stop(ctx, g.stops[g.place.Stop]); {
		case errors.Is(err, errBack):
			g.goBack()
		case err != nil:
			return err
		default:
			g.place.Stop, g.place.Command = g.place.Stop+1, 0
		}
	}
	return g.screen.err
}

// before returns the stop that is a step back: the beginning of this step, or of the one before if the reader is at the beginning;
// -1 for none.
func (g *walk) before() int {
	number, begin := g.stops[g.place.Stop].number, -1
	for i, s := range g.stops[:g.place.Stop+1] {
		if s.first && s.number == number {
			begin = i
		}
	}
	asked := g.place.Command > 0
	for _, s := range g.stops[begin:g.place.Stop] {
		asked = asked || s.Block != nil || s.Offer != nil
	}
	if asked {
		return begin
	}
	for i, s := range g.stops {
		if s.first && s.number == number-1 {
			return i
		}
	}
	return -1
}

// goBack moves the place to the beginning of a step. Commands that run again settle their doubts.
func (g *walk) goBack() {
	s := g.stops[g.back]
	g.place.Stop, g.place.Command, g.auto = g.back, 0, 0
	g.place.Doubts = slices.DeleteFunc(g.place.Doubts, func(d Doubt) bool { return d.Step >= s.number })
	g.screen.words(amber, "  ↶", "Back. What you have done since stays done; a command that runs again may print something else than the page.")
}

// keep saves the place.
func (g *walk) keep() error {
	g.place.Step = 0
	if g.place.Stop < len(g.stops) {
		g.place.Step = g.stops[g.place.Stop].number
	}
	g.place.Text = text(g.stops, g.place)
	return g.place.write(g.Shelf.World(g.Page))
}

// asks reports whether the reader is asked at the stop.
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
			_, err := g.ask(ctx, answer{"n", or(g.place.Stop == len(g.stops)-1, "end, and clean up", "continue")})
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

// typed waits until the reader has typed the command at the place and its check succeeds.
func (g *walk) typed(ctx context.Context, s stop) error {
	b, c := s.Block, &s.Block.Commands[g.place.Command]
	last := g.place.Command == len(b.Commands)-1
	switch {
	case sets(c.Text):
		g.screen.words(dim, "   ", "Type it in your terminal. It runs here too, because it changes the shell: yours and this one.")
		return g.thenRun(ctx, s, "I have typed it")
	case last && b.Check != "":
		return g.watch(ctx, s)
	case b.Wait > 0 || reads(c.Text):
		g.screen.words(dim, "   ", "Type it in your terminal. It changes nothing, so it then runs here too, to compare.")
		return g.thenRun(ctx, s, "I have typed it: compare")
	}
	g.screen.words(dim, "   ", "Type it in your terminal. Its effect shows later; the guide trusts you here.")
	key, err := g.ask(ctx, answer{"n", "I have typed it"}, answer{"r", "run it for me, and what follows"}, answer{"s", "skip"})
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

// introduce shows how to bring the reader's terminal to the state of the page.
func (g *walk) introduce(ctx context.Context, s stop) {
	g.screen.words(0, "   ", "In your terminal, once:")
	g.screen.say("      %s", g.Env)
	before(g.stops, g.place, func(n int, b *tutorial.Block, i int) {
		if c := &b.Commands[i]; b.Terminal == s.Block.Terminal && sets(c.Text) && !strings.HasPrefix(c.Text, "export PATH=") && g.session.Why(ctx, g.stops[n].step, b) == "" {
			g.screen.say("      %s", g.again(c))
		}
	})
}

// thenRun runs the command when the reader agrees.
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

// watch repeats the check until it succeeds, without a word from the reader.
func (g *walk) watch(ctx context.Context, s stop) error {
	b := s.Block
	for {
		g.screen.words(dim, "   ", "Type it in your terminal. This terminal notices when it is done, by this check (enter: something else):")
		g.screen.say("      $ %s", b.Check)
		done, err := g.until(ctx, b.Line, b.Check)
		if err != nil {
			return err
		}
		if done {
			g.place.settle(b.Commands[g.place.Command].Line)
			g.screen.line(green, "  ✓ done")
			return nil
		}
		g.screen.words(0, "   ", "Not done yet.")
		key, err := g.ask(ctx, answer{"w", "keep waiting"}, answer{"r", "run it for me, and what follows"}, answer{"s", "skip"})
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

// until repeats a command until it exits with 0 or the reader ends a line.
func (g *walk) until(ctx context.Context, line int, command string) (done bool, err error) {
	g.forget(ctx)
	defer g.screen.awake("not done yet, after %s; enter for something else")()
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

// explain describes the difference from the page, its possible reasons, and what to do.
func (g *walk) explain(s stop, m *tutorial.Mismatch, err error) {
	if m == nil {
		g.screen.words(red, "  ✗", fmt.Sprintf("It did not finish: %v", err))
		g.because(s)
		return
	}
	check := s.Block.Check != "" && m.Command == s.Block.Check
	switch {
	case check:
		g.screen.words(red, "  ✗", "It ran, and its effect is missing. The page checks:")
		g.screen.say("      $ %s", m.Command)
		for _, line := range lines(m.Output, 6) {
			g.screen.say("      %s", line)
		}
	case m.Exit != m.WantExit:
		g.screen.words(red, "  ✗", fmt.Sprintf("It ended with status %d, and the page expects %d%s.", m.Exit, m.WantExit, or(m.WantExit == 0, ", success", ", an error")))
	default:
		g.screen.words(red, "  ✗", fmt.Sprintf("This differs from the page (line %d).", m.Line))
		g.screen.say("      expected: %s\n      got:      %s", orNothing(m.Want), orNothing(m.Got))
		if strings.Contains(m.Want, "…") {
			g.screen.line(dim, "      (… stands for what differs between runs)")
		}
	}
	if m.Waited > 0 {
		g.screen.words(0, "   ", fmt.Sprintf("It was retried for %s. On a busy machine, try again.", m.Waited))
	}
	if hint := hint(m); hint != "" {
		g.screen.words(0, "   ", hint)
	}
	g.because(s)
}

// because names the commands that were skipped or did something else before.
func (g *walk) because(s stop) {
	const most = 3
	var before []Doubt
	for _, d := range g.place.Doubts {
		if d.Line < s.Block.Commands[g.place.Command].Line {
			before = append(before, d)
		}
	}
	if len(before) == 0 {
		return
	}
	g.screen.words(0, "   ", "An earlier difference from the page may be the reason:")
	for _, d := range before[max(0, len(before)-most):] {
		first, _, _ := strings.Cut(d.Command, "\n")
		g.screen.say("      step %d: $ %s (%s)", d.Step, first, or(d.Skipped, "skipped", "it did something else"))
	}
	g.screen.words(0, "   ", "Type that in another terminal, or quit and go back: "+g.Again+" --from "+fmt.Sprint(before[0].Step))
}

var missing = regexp.MustCompile(`(?m)^.*: (\S+): (?:command )?not found$`)

// hint describes a problem of the machine or the world, if the output shows one.
func hint(m *tutorial.Mismatch) string {
	switch {
	case m.Exit == 127 && missing.MatchString(m.Output):
		return fmt.Sprintf("There is no program %s in this shell. If the page sets an alias for it, that was skipped.", missing.FindStringSubmatch(m.Output)[1])
	case strings.Contains(m.Output, "no sandbox is running"), strings.Contains(m.Output, "no sandboxes"):
		return "No sandbox is running here: it was never booted, or it has ended. The page boots one with \"vsphere-sandbox up\"."
	case strings.Contains(m.Output, "already runs"), strings.Contains(m.Output, "is running already"), strings.Contains(m.Output, "already-running"):
		return "It runs already: perhaps you did this before, here or in another terminal. Then continue anyway."
	case strings.Contains(m.Output, "AlreadyExists"), strings.Contains(m.Output, "already exists"):
		return "It exists already: perhaps you did this before, here or in another terminal. Then continue anyway."
	}
	return ""
}

func orNothing(line string) string { return cmp.Or(strings.TrimSpace(line), "(nothing more)") }

// lines returns the last lines of an output.
func lines(output string, most int) []string {
	all := strings.Split(strings.TrimRight(output, "\n"), "\n")
	return all[max(0, len(all)-most):]
}
