package tutorial

import (
	"context"
	"fmt"
	"time"
)

// beside is the terminal of commands that a reader does not see.
const beside = 0

// patience of a check whose block is not waited for: what a command started may take a moment to be so.
const checking = 30 * time.Second

// check asks whether the world is as it is to be after a block, again and again.
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

// offer breaks something, looks at it and puts it right.
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

// aside runs a command in the terminal that nobody sees until it ends with 0, for at most so long; 0 is once.
func (s *Session) aside(ctx context.Context, line int, what, command string, long time.Duration) (Ran, error) {
	t, err := s.terminal(beside)
	if err != nil {
		return Ran{}, fmt.Errorf("%s:%d: %s: %w", s.page.File, line, what, err)
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
		case <-time.After(s.runner.Again):
		}
	}
}
