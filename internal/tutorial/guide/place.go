package guide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

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
