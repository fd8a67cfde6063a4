package tutorial

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// This is a session by hand: one command at a time, in the order that a reader takes.

// Why says why a block is not run here; empty if it is.
func (s *Session) Why(ctx context.Context, step *Step, b *Block) string { return s.skips(ctx, step, b) }

// Try runs the command i of a block once, and judges it; nil is as the page says. What it prints goes to live as it comes,
// and is Ran's in the end. A background command has been run when it has begun as expected. An error says that its terminal
// broke, which is a new one from then on, or that it is not free.
func (s *Session) Try(ctx context.Context, b *Block, i int, live io.Writer) (Ran, *Mismatch, error) {
	c, exit, background := &b.Commands[i], 0, false
	if i == len(b.Commands)-1 {
		exit, background = b.Exit, b.Background
	}
	return s.try(ctx, b, c, exit, background, live)
}

// Aside runs a command beside the reader: with no aliases, in the clone. It is to end with status 0.
func (s *Session) Aside(ctx context.Context, line int, command string, live io.Writer) (Ran, *Mismatch, error) {
	c := &Command{Line: line, Text: command, Want: []Line{{Number: line, Text: anything}}}
	return s.try(ctx, &Block{Line: line, Terminal: beside}, c, 0, false, live)
}

func (s *Session) try(ctx context.Context, b *Block, c *Command, exit int, background bool, live io.Writer) (Ran, *Mismatch, error) {
	t, err := s.terminal(b.Terminal)
	if err != nil {
		return Ran{}, nil, fmt.Errorf("terminal %d: %w", b.Terminal, err)
	}
	if err := t.fits(b, c); err != nil {
		return Ran{}, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, max(b.Wait, s.runner.Patience))
	defer cancel()
	t.show(live)
	defer t.show(nil)
	ran, m, err := s.once(ctx, t, c, exit, background)
	if err != nil && t.busy == nil {
		_ = t.close() // it may be closed already
		delete(s.terminals, b.Terminal)
	}
	return ran, m, err
}

// Fresh says whether a terminal has been used, so that what the page has set there is set.
func (s *Session) Fresh(terminal int) bool { return s.terminals[terminal] == nil }

// Running returns what runs in a terminal; nil is nothing.
func (s *Session) Running(terminal int) *Command {
	if t := s.terminals[terminal]; t != nil {
		return t.busy
	}
	return nil
}

// Terminals are those that have been used, in order.
func (s *Session) Terminals() []int {
	var found []int
	for n := range s.terminals {
		if n != beside {
			found = append(found, n)
		}
	}
	slices.Sort(found)
	return found
}

// World is where a page's reader is, for another terminal of theirs.
type World struct {
	Dir string // to stand in
	Bin string // has the program; to be the first of PATH
	// State is the state directory of the sandboxes.
	State string
}

// WorldAt is the world of the home in that directory, which need not be there.
func WorldAt(dir string) World {
	h := at(dir)
	return World{Dir: h.clone, Bin: filepath.Join(h.clone, "bin"), State: h.state}
}

// Remove ends all that lives in the home in that directory, and removes it. It says what there was to end: sandboxes, files
// of the reader's, processes. Programs that the reader runs there are told and not ended. Binary is the program.
func Remove(ctx context.Context, dir, binary string) (left []string, err error) {
	h := at(dir)
	h.shared = true
	if h.binary, err = filepath.Abs(binary); err != nil {
		return nil, err
	}
	if _, err := os.Stat(h.state); err != nil { // it was never begun, or is half removed
		return nil, os.RemoveAll(dir)
	}
	return h.remove(ctx)
}
