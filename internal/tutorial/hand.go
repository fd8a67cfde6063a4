package tutorial

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A session by hand runs one command at a time, in the reader's order.

// Why returns why a block is not run here, or "".
func (s *Session) Why(ctx context.Context, step *Step, b *Block) string { return s.skips(ctx, step, b) }

// Try runs the command i of a block once, and judges it; nil means as on the page. Its output goes to live as it comes, and is
// Ran's in the end. A background command is done once its output begins as expected. An error means that its terminal broke, and
// was replaced, or that it is busy.
func (s *Session) Try(ctx context.Context, b *Block, i int, live io.Writer) (Result, *Mismatch, error) {
	c, exit, background := &b.Commands[i], 0, false
	if i == len(b.Commands)-1 {
		exit, background = b.Exit, b.Background
	}
	return s.try(ctx, b, c, exit, background, live)
}

// Aside runs a command in a hidden terminal: without aliases, in the clone. It must exit with status 0.
func (s *Session) Aside(ctx context.Context, line int, command string, live io.Writer) (Result, *Mismatch, error) {
	c := &Command{Line: line, Text: command, Want: []Line{{Number: line, Text: anything}}}
	return s.try(ctx, &Block{Line: line, Terminal: beside}, c, 0, false, live)
}

func (s *Session) try(ctx context.Context, b *Block, c *Command, exit int, background bool, live io.Writer) (Result, *Mismatch, error) {
	t, err := s.terminal(b.Terminal)
	if err != nil {
		return Result{}, nil, fmt.Errorf("terminal %d: %w", b.Terminal, err)
	}
	if err := t.fits(b, c); err != nil {
		return Result{}, nil, err
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

// Fresh reports whether a terminal is new, and lacks what the page has set in it.
func (s *Session) Fresh(terminal int) bool { return s.terminals[terminal] == nil }

// Running returns the command that runs in a terminal, or nil.
func (s *Session) Running(terminal int) *Command {
	if t := s.terminals[terminal]; t != nil {
		return t.busy
	}
	return nil
}

// Terminals returns the used terminals, in order.
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

// World is the environment of a page's reader, for another terminal.
type World struct {
	Dir string // to stand in
	Bin string // has the program; to be the first of PATH
	// State is the state directory of the sandboxes.
	State string
}

// WorldAt returns the world of the home in a directory, which need not exist.
func WorldAt(dir string) World {
	h := at(dir)
	return World{Dir: h.clone, Bin: filepath.Join(h.clone, "bin"), State: h.state}
}

// Remove ends everything in the home in that directory, and removes it. It returns what it ended: sandboxes, the reader's files,
// processes. It reports programs that the reader runs there, and leaves them running. Binary is the program.
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

// beside is the hidden terminal.
const beside = 0

// patience of a check whose block has no wait: an effect may take a moment.
const checking = 30 * time.Second

// check repeats the check of a block until it succeeds.
func (s *Session) check(ctx context.Context, b *Block) error {
	if b.Check == "" {
		return nil
	}
	long := b.Wait
	if long == 0 {
		long = min(checking, s.runner.Patience)
	}
	_, err := s.aside(ctx, b.Line, "check", b.Check, long)
	return err
}

// offer breaks something, looks at it and repairs it.
func (s *Session) offer(ctx context.Context, o *Offer) error {
	for _, c := range []struct{ what, command string }{{"offer", o.Command}, {"look", o.Look}, {"undo", o.Undo}} {
		if c.command == "" {
			continue
		}
		ran, err := s.aside(ctx, o.Line, c.what, c.command, 0)
		if err != nil {
			return err
		}
		if s.runner.Ran != nil {
			s.runner.Ran(&Command{Line: o.Line, Text: c.command}, ran)
		}
	}
	return nil
}

// aside runs a command in the hidden terminal until it exits with 0, for at most so long; 0 is once.
func (s *Session) aside(ctx context.Context, line int, what, command string, long time.Duration) (Result, error) {
	t, err := s.terminal(beside)
	if err != nil {
		return Result{}, fmt.Errorf("%s:%d: %s: %w", s.page.File, line, what, err)
	}
	ctx, cancel := context.WithTimeout(ctx, max(long, s.runner.Patience))
	defer cancel()
	until := time.NewTimer(long)
	defer until.Stop()
	c := &Command{Line: line, Text: command, Want: []Line{{Number: line, Text: anything}}}
	for {
		ran, m, err := s.once(ctx, t, c, 0, false)
		if err != nil {
			return ran, fmt.Errorf("%s:%d: %s: $ %s: %w", s.page.File, line, what, command, err)
		}
		if m == nil {
			return ran, nil
		}
		if long == 0 {
			return ran, m
		}
		select {
		case <-until.C:
			m.Waited = long
			return ran, m
		case <-time.After(s.runner.RetryInterval):
		}
	}
}

// Offer is something to break, and how to repair it. A page does not show it; a guide asks.
type Offer struct {
	Line    int    // of its first comment
	Command string // breaks it
	About   string // what the reader is asked, such as "Does a node notice that its vCenter is silent?"
	Look    string // a command to look at it with; empty for none
	Undo    string // puts it right
	Why     string // what the reader has seen, shown before the repair; may be empty
}

// offers are the directives of offers; the first one begins an offer.
func offers() []string { return []string{"offer", "about", "look", "undo", "why"} }

// directive adds one comment to an offer.
func (o *Offer) directive(text string) error {
	word, value, _ := strings.Cut(text, ":")
	field := map[string]*string{"offer": &o.Command, "about": &o.About, "look": &o.Look, "undo": &o.Undo, "why": &o.Why}[word]
	value = strings.TrimSpace(value)
	switch {
	case field == nil:
		return fmt.Errorf("%q: write \"offer: COMMAND\", and below it \"about: WORDS\", \"look: COMMAND\", \"why: WORDS\" and \"undo: COMMAND\"", text)
	case value == "":
		return fmt.Errorf("%q: nothing is said; write \"%s: …\"", text, word)
	case *field != "":
		return fmt.Errorf("%q: there is one already", text)
	case word != "offer" && o.Command == "":
		return fmt.Errorf("%q: an offer begins with \"offer: COMMAND\"", text)
	}
	*field = value
	return nil
}

// whole returns what an offer lacks.
func (o *Offer) whole() error {
	if o.Undo == "" {
		return fmt.Errorf("the offer has no \"undo: COMMAND\", which puts it right")
	}
	return nil
}
