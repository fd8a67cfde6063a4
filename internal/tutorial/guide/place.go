package guide

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

// Place is the progress of a reader.
type Place struct {
	Page    string `json:"page"`
	Step    int    `json:"step"`    // its number; 0 is before the first
	Stop    int    `json:"stop"`    // the next one
	Command int    `json:"command"` // of a block, counted from 0
	// Text is that of the next stop; it identifies the stop in another release of the page.
	Text string `json:"text,omitempty"`
	// Typing reports whether the reader types the commands.
	Typing bool `json:"typing,omitempty"`
	// Theirs are the lines of commands that still run in a terminal of the reader's.
	Theirs []int `json:"theirs,omitempty"`
	// Values are the variables whose commands may print another value the next time, by the line of the command.
	Values map[int]string `json:"values,omitempty"`
	// Doubts are commands that were skipped, or differed from the page.
	Doubts []Doubt `json:"doubts,omitempty"`
}

// Doubt is a command that may make later ones differ.
type Doubt struct {
	Step    int    `json:"step"`
	Line    int    `json:"line"`
	Command string `json:"command"`
	Skipped bool   `json:"skipped,omitempty"` // otherwise it ran and differed
}

const placeFile = "place.json"

// readPlace returns nil if the file does not exist.
func readPlace(dir string) (*Place, error) {
	file := filepath.Join(dir, placeFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var p Place
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &p, nil
}

// write saves the place atomically.
func (p *Place) write(dir string) error {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(dir, placeFile), append(data, '\n'), 0o600)
}

// text returns the text of a page at a place.
func text(all []stop, p Place) string {
	if p.Stop >= len(all) {
		return ""
	}
	s := all[p.Stop]
	switch {
	case s.Block != nil && p.Command < len(s.Block.Commands):
		return s.Block.Commands[p.Command].Text
	case s.Offer != nil:
		return s.Offer.Command
	}
	return s.step.Heading
}

// fit converts a place of another release of the page: to the beginning of its step, if the page differs.
func (p *Place) fit(all []stop) (moved bool) {
	if p.Stop >= 0 && p.Stop < len(all) && p.Command >= 0 && text(all, *p) == p.Text && all[p.Stop].number == p.Step {
		return false
	}
	for i, s := range all {
		if s.number == p.Step && s.first {
			p.Stop, p.Command = i, 0
			return true
		}
	}
	p.Stop, p.Command, p.Step = 0, 0, 0
	return true
}

func (p *Place) doubt(number int, c *tutorial.Command, skipped bool) {
	p.settle(c.Line)
	name := c.Text
	if c.Interrupt {
		name = "^C"
	}
	p.Doubts = append(p.Doubts, Doubt{number, c.Line, name, skipped})
}

// settle removes a doubt: the command has succeeded.
func (p *Place) settle(line int) {
	kept := p.Doubts[:0]
	for _, d := range p.Doubts {
		if d.Line != line {
			kept = append(kept, d)
		}
	}
	p.Doubts = kept
}

// Shelf keeps the worlds of started pages in Dir, which it creates.
type Shelf struct{ Dir string }

// ErrGuided reports that another process walks through the page.
var ErrGuided = errors.New("another terminal walks through it")

// World returns the directory of a page's world. Its name is the page's number, as paths of sockets in it must be short.
func (s Shelf) World(p *tutorial.Page) string {
	number, _, _ := strings.Cut(p.Name, "-")
	return filepath.Join(s.Dir, number)
}

// Place returns the progress in a page, or nil if it has not been started.
func (s Shelf) Place(p *tutorial.Page) (*Place, error) { return readPlace(s.World(p)) }

// take locks the world of a page for this process, until release. The error is [ErrGuided] if another process has it.
func (s Shelf) take(p *tutorial.Page) (release func(), err error) {
	dir := s.World(p)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrGuided
		}
		return nil, errors.Join(err, lock.Close())
	}
	return func() { _ = lock.Close() }, nil // releases the lock
}

// Stop ends everything in the world of a page, removes it, and returns what it ended. Programs that the reader started there keep
// running. Stop accepts a page that has not been started.
func (s Shelf) Stop(ctx context.Context, p *tutorial.Page, binary string) (left []string, err error) {
	if _, err := os.Stat(s.World(p)); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	release, err := s.take(p)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.remove(ctx, p, binary)
}

func (s Shelf) remove(ctx context.Context, p *tutorial.Page, binary string) (left []string, err error) {
	left, err = tutorial.Remove(ctx, s.World(p), binary)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.World(p), err)
	}
	_ = os.Remove(s.Dir) // fails unless it was the last
	return left, err
}

// stop is one part of a page: a part of a step, or only its heading.
type stop struct {
	number int // of the step, from 1; 0 before the first heading
	step   *tutorial.Step
	first  bool // of its step
	last   bool
	tutorial.Part
}

// stops returns all stops of a page, in their order.
func stops(p *tutorial.Page) []stop {
	var found []stop
	number := 0
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.Heading != "" {
			number++
		}
		parts := step.Parts
		if len(parts) == 0 {
			parts = []tutorial.Part{{}}
		}
		for k, part := range parts {
			found = append(found, stop{number, step, k == 0, k == len(parts)-1, part})
		}
	}
	return found
}

// Steps counts the steps of a page.
func Steps(p *tutorial.Page) int {
	return len(Headings(p))
}

// Headings returns the headings of a page's steps.
func Headings(p *tutorial.Page) []string {
	var found []string
	for _, s := range p.Steps {
		if s.Heading != "" {
			found = append(found, s.Heading)
		}
	}
	return found
}

// NoStep is the error for a step that the page does not have.
type NoStep struct {
	Asked, Guess string
	Headings     []string
}

// Error names the existing steps.
func (e *NoStep) Error() string { return fmt.Sprintf("there is no step %q", e.Asked) }

// find returns the first stop of a step, by its number or the beginning of its heading.
func find(all []stop, asked string) (int, error) {
	e := &NoStep{Asked: asked}
	n, err := strconv.Atoi(asked)
	for i, s := range all {
		if !s.first {
			continue
		}
		if err == nil && s.number == n || err != nil && asked != "" && strings.HasPrefix(strings.ToLower(s.step.Heading), strings.ToLower(asked)) {
			return i, nil
		}
		if s.step.Heading != "" {
			e.Headings = append(e.Headings, s.step.Heading)
		}
	}
	e.Guess = nearest.Of(asked, e.Headings)
	return 0, e
}

// before calls f for every command before a place, with the number of its stop.
func before(all []stop, at Place, f func(stop int, b *tutorial.Block, i int)) {
	for n := range all[:min(at.Stop+1, len(all))] {
		b := all[n].Block
		if b == nil {
			continue
		}
		for i := range b.Commands {
			if n < at.Stop || i < at.Command {
				f(n, b, i)
			}
		}
	}
}

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
	_ = g.session.CloseTerminals() // it fails if a shell cannot be killed, which has ended
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
func (g *walk) living() []string { return g.Shelf.Sandboxes(g.Page) }

// Sandboxes returns the names of the sandboxes in the world of a page.
func (s Shelf) Sandboxes(p *tutorial.Page) []string {
	entries, _ := os.ReadDir(tutorial.WorldAt(s.World(p)).State) // the directory may be missing
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
	_ = g.session.CloseTerminals()
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
