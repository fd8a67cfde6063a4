package tutorial

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Session is one reading of a page, step by step, in one home. It is for one goroutine.
type Session struct {
	runner    Runner
	page      *Page
	home      *home
	terminals map[int]*terminal
	ran       map[int]Ran // by the line of the command
	lenient   bool        // other outputs than expected are no errors
}

// Open makes a home. Whoever opens a session closes it.
func (r Runner) Open(page *Page) (*Session, error) {
	if r.Patience == 0 {
		r.Patience = 2 * time.Minute
	}
	if r.Again == 0 {
		r.Again = 300 * time.Millisecond
	}
	h, err := newHome(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", page.File, err)
	}
	if r.Terminals == nil {
		r.Terminals = func() (Shell, error) { return startShell(h) }
	}
	return &Session{runner: r, page: page, home: h, terminals: map[int]*terminal{}, ran: map[int]Ran{}}, nil
}

// Step runs the blocks of a step, counted from 0. Steps are run in their order, each once.
func (s *Session) Step(ctx context.Context, i int) error {
	for k := range s.page.Steps[i].Blocks {
		if err := s.block(ctx, &s.page.Steps[i].Blocks[k]); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the terminals and everything that was started in them, and removes the home. It says what was left running;
// ctx may be over.
func (s *Session) Close(ctx context.Context) (left []string, err error) {
	var errs []error
	for _, t := range s.terminals {
		errs = append(errs, t.close())
	}
	left, err = s.home.remove(ctx)
	return left, errors.Join(append(errs, err)...)
}

// idle is an error if something runs in a terminal.
func (s *Session) idle() error {
	for n, t := range s.terminals {
		if t.busy != nil {
			return fmt.Errorf("%s:%d: still runs in terminal %d at the end of the page: $ %s", s.page.File, t.busy.Line, n, t.busy.Text)
		}
	}
	return nil
}

func (s *Session) terminal(n int) (*terminal, error) {
	if t := s.terminals[n]; t != nil {
		return t, nil
	}
	shell, err := s.runner.Terminals()
	if err != nil {
		return nil, err
	}
	s.terminals[n] = &terminal{shell: shell}
	return s.terminals[n], nil
}

func (s *Session) block(ctx context.Context, b *Block) error {
	if b.NotRun != "" {
		return nil
	}
	t, err := s.terminal(b.Terminal)
	if err != nil {
		return fmt.Errorf("%s:%d: terminal %d: %w", s.page.File, b.Line, b.Terminal, err)
	}
	for i := range b.Commands {
		c := &b.Commands[i]
		last := i == len(b.Commands)-1
		exit := 0
		if last {
			exit = b.Exit
		}
		if err := s.command(ctx, t, b, c, exit, last && b.Background); err != nil {
			var m *Mismatch
			if errors.As(err, &m) {
				return err
			}
			return fmt.Errorf("%s:%d: $ %s: %w", s.page.File, c.Line, or(c.Text, "^C"), err)
		}
	}
	return nil
}

// command runs one command as its block says, again and again if it is to be waited for.
func (s *Session) command(ctx context.Context, t *terminal, b *Block, c *Command, exit int, background bool) error {
	if (t.busy == nil) == c.Interrupt {
		if c.Interrupt {
			return fmt.Errorf("nothing runs in terminal %d that could be interrupted", b.Terminal)
		}
		return fmt.Errorf("terminal %d is taken by \"%s\" of line %d; ^C ends it", b.Terminal, t.busy.Text, t.busy.Line)
	}
	ctx, cancel := context.WithTimeout(ctx, max(b.Wait, s.runner.Patience))
	defer cancel()
	var until <-chan time.Time
	if b.Wait > 0 {
		timer := time.NewTimer(b.Wait)
		defer timer.Stop()
		until = timer.C
	}
	for {
		ran, m, err := s.once(ctx, t, c, exit, background)
		if err != nil {
			return err
		}
		over := b.Wait == 0
		if m != nil && !over {
			select {
			case <-until:
				over, m.Waited = true, b.Wait
			case <-time.After(s.runner.Again):
				continue
			}
		}
		s.ran[c.Line] = ran
		if s.runner.Ran != nil {
			s.runner.Ran(c, ran)
		}
		// What is waited for is a claim, not a print: it is never replaced by what there was instead.
		if m == nil || s.lenient && m.Exit == m.WantExit && b.Wait == 0 && !background {
			return nil
		}
		return m
	}
}

// once runs a command once.
func (s *Session) once(ctx context.Context, t *terminal, c *Command, exit int, background bool) (Ran, *Mismatch, error) {
	if c.Interrupt {
		if err := t.interrupt(); err != nil {
			return Ran{}, nil, err
		}
	} else {
		t.start(ctx, c)
	}
	for {
		output, done, changed := t.look()
		ran := Ran{Output: s.home.hide(output)}
		switch {
		case done != nil:
			t.busy = nil
			if done.err != nil {
				return ran, nil, s.broken(done.err, ran)
			}
			ran.Exit = done.exit
			if background {
				return ran, nil, fmt.Errorf("ended with status %d, and was to go on in the background\n%s", ran.Exit, ran.Output)
			}
			return ran, judge(s.page, c, ran, exit, false), nil
		case background:
			if judge(s.page, c, ran, 0, true) == nil && begun(c, output) {
				return ran, nil, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if m := judge(s.page, c, ran, 0, true); background && m != nil {
				m.Waited = s.runner.Patience
				return ran, m, nil
			}
			err := t.close()
			t.busy = nil
			return ran, nil, s.broken(errors.Join(ctx.Err(), err), ran)
		}
	}
}

// begun says whether a command in the background has printed anything, if it was to; … alone stands for something, too.
func begun(c *Command, output string) bool { return len(c.Want) == 0 || len(split(output)) > 0 }

func (s *Session) broken(err error, ran Ran) error {
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("did not end in time")
	}
	return fmt.Errorf("%w; it has printed:\n%s", err, ran.Output)
}
