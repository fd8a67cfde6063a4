package tutorial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Session is one run of a page, step by step, in one home. It is for one goroutine.
type Session struct {
	runner    Runner
	page      *Page
	home      *home
	terminals map[int]*terminal
	ran       map[int]Result // by the line of the command
	has       map[string]error
	lenient   bool // other outputs than expected are no errors
}

// Open makes a home. The caller must close the session.
func (r Runner) Open(page *Page) (*Session, error) {
	if r.Patience == 0 {
		r.Patience = 2 * time.Minute
	}
	if r.RetryInterval == 0 {
		r.RetryInterval = 300 * time.Millisecond
	}
	h, err := newHome(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", page.File, err)
	}
	if page.needs("go") {
		h.golang = goVars()
	}
	if r.Terminals == nil {
		r.Terminals = func() (Shell, error) { return startShell(h) }
	}
	if r.Has == nil {
		r.Has = h.machine
	}
	return &Session{runner: r, page: page, home: h, terminals: map[int]*terminal{}, ran: map[int]Result{}, has: map[string]error{}}, nil
}

// Step runs the blocks of a step, counted from 0, and its offers with Runner.Offers. Run the steps in their order, each once.
func (s *Session) Step(ctx context.Context, i int) error {
	step := &s.page.Steps[i]
	for _, part := range step.Parts {
		var err error
		switch {
		case part.Block != nil:
			if why := s.skips(ctx, step, part.Block); why == "" {
				err = s.block(ctx, part.Block)
			} else if s.runner.Skipped != nil {
				s.runner.Skipped(part.Block.Line, why)
			}
		case part.Offer != nil && s.runner.Offers:
			err = s.offer(ctx, part.Offer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// skips returns why a block is not run, or "".
func (s *Session) skips(ctx context.Context, step *Step, b *Block) string {
	if b.NotRun != "" {
		return b.NotRun
	}
	for _, need := range slices.Concat(step.Needs, b.Needs) {
		lacks, known := s.has[need]
		if !known {
			lacks = s.runner.Has(ctx, need)
			s.has[need] = lacks
		}
		if lacks != nil {
			return fmt.Sprintf("needs %s: %v", need, lacks)
		}
	}
	return ""
}

// Close ends the terminals and everything that was started in them, and removes the home. It returns what was left running; ctx
// may have ended.
func (s *Session) Close(ctx context.Context) (left []string, err error) {
	closing := s.CloseTerminals()
	left, err = s.home.remove(ctx)
	return left, errors.Join(closing, err)
}

// CloseTerminals ends the terminals and their programs, by ^C and then by force, and keeps the home: detached programs keep running.
// Afterwards the session can only be closed.
func (s *Session) CloseTerminals() error {
	s.interrupt()
	var errs []error
	for _, n := range slices.Sorted(maps.Keys(s.terminals)) {
		errs = append(errs, s.terminals[n].close())
		delete(s.terminals, n)
	}
	return errors.Join(errs...)
}

// interrupt sends ^C to every running command, and waits for it to end: an interrupted sandbox removes its files, a killed one
// leaves them.
func (s *Session) interrupt() {
	const orderly = 10 * time.Second
	bound := time.NewTimer(min(orderly, s.runner.Patience))
	defer bound.Stop()
	var signaled []*terminal
	for _, t := range s.terminals {
		if t.busy != nil && !t.over() && t.interrupt() == nil {
			signaled = append(signaled, t)
		}
	}
	for _, t := range signaled {
		select {
		case <-t.joined:
		case <-bound.C:
			return
		}
	}
}

// idle returns an error if something runs in a terminal.
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
			if _, ok := errors.AsType[*Mismatch](err); ok {
				return err
			}
			return fmt.Errorf("%s:%d: $ %s: %w", s.page.File, c.Line, cmp.Or(c.Text, "^C"), err)
		}
	}
	return s.check(ctx, b)
}

// command runs one command as its block specifies, repeatedly if the block has a wait.
func (s *Session) command(ctx context.Context, t *terminal, b *Block, c *Command, exit int, background bool) error {
	if err := t.fits(b, c); err != nil {
		return err
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
				m.Waited = b.Wait
			case <-time.After(s.runner.RetryInterval):
				continue
			}
		}
		s.ran[c.Line] = ran
		if s.runner.Ran != nil {
			s.runner.Ran(c, ran)
		}
		// An output that was waited for is an assertion: Rewrite never replaces it.
		if m == nil || s.lenient && m.Exit == m.WantExit && b.Wait == 0 && !background {
			return nil
		}
		return m
	}
}

// fits returns an error if a running program blocks the command's terminal.
func (t *terminal) fits(b *Block, c *Command) error {
	switch {
	case c.Interrupt && t.busy == nil:
		return fmt.Errorf("nothing runs in terminal %d that could be interrupted", b.Terminal)
	case !c.Interrupt && t.busy != nil:
		return fmt.Errorf("terminal %d is taken by \"%s\" of line %d; ^C ends it", b.Terminal, t.busy.Text, t.busy.Line)
	}
	return nil
}

// once runs a command once.
func (s *Session) once(ctx context.Context, t *terminal, c *Command, exit int, background bool) (Result, *Mismatch, error) {
	if c.Interrupt {
		if err := t.interrupt(); err != nil {
			return Result{}, nil, err
		}
	} else {
		t.start(ctx, c)
	}
	for {
		output, done, changed := t.look()
		ran := Result{Output: s.home.hide(output)}
		switch {
		case done != nil:
			t.busy = nil
			if done.err != nil {
				return ran, nil, s.broken(done.err, ran)
			}
			ran.Exit = done.exit
			if background {
				return ran, nil, fmt.Errorf("ended with status %d instead of running in the background\n%s", ran.Exit, ran.Output)
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

// begun reports whether a background command has printed something, if its page has output; a single … expects something too.
func begun(c *Command, output string) bool { return len(c.Want) == 0 || len(split(output)) > 0 }

func (s *Session) broken(err error, ran Result) error {
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("did not end in time")
	}
	return fmt.Errorf("%w; it has printed:\n%s", err, ran.Output)
}

// Runner runs pages. Binary is required. It may be used concurrently.
type Runner struct {
	Binary string // the program
	Root   string // the repository, whose tutorials folder a reader has; empty for none
	Files  fs.FS  // the tutorials folder itself, in place of Root's; nil for Root's
	// Dir is the directory of the home, which may exist from an earlier session. Session.Close removes it. Empty creates a temporary
	// one.
	Dir string

	// As is the user for commands; nil is the current one.
	As *syscall.Credential
	// Patience is the time limit of a command, and for a background command to begin; 0 is 2 minutes. A longer wait of a block takes
	// precedence.
	Patience time.Duration
	// RetryInterval is the time between two tries of a command with a wait; 0 is 300 ms.
	RetryInterval time.Duration
	// Ran, when not nil, is called with every command and its last output, after it was judged.
	Ran func(*Command, Result)
	// Skipped, when not nil, is called with the line of every block that is not run, and the reason.
	Skipped func(line int, why string)
	// Offers enables the offers of a page.
	Offers bool
	// Has returns the error of a machine without a need; nil checks this machine.
	Has func(ctx context.Context, need string) error
	// Terminals creates shells for tests; nil uses sh.
	Terminals func() (Shell, error)
}

// Result is the result of a command.
type Result struct {
	Output string // both streams, with the paths of this run replaced by …
	Exit   int    // 0 as long as it runs
}

// Run runs a whole page, and cleans up. It stops at the first error: a *Mismatch, a broken terminal, or something that the page
// leaves running.
func (r Runner) Run(ctx context.Context, page *Page) error {
	_, err := r.all(ctx, page, false)
	return err
}

// Regenerate runs a page and returns its text with the new outputs. Matching expectations stay unchanged, see Rewrite. Another
// exit status is an error, as is an output that did not come within its wait.
func (r Runner) Regenerate(ctx context.Context, page *Page) (string, error) {
	ran, err := r.all(ctx, page, true)
	if err != nil {
		return "", err
	}
	return Rewrite(page, ran), nil
}

func (r Runner) all(ctx context.Context, page *Page, lenient bool) (ran map[int]Result, err error) {
	s, err := r.Open(page)
	if err != nil {
		return nil, err
	}
	s.lenient = lenient
	defer func() {
		left, closing := s.Close(ctx)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%s: leaves behind: %s", page.File, strings.Join(left, ", "))
		}
		err = errors.Join(err, closing)
	}()
	for i := range page.Steps {
		if err := s.Step(ctx, i); err != nil {
			return s.ran, err
		}
	}
	return s.ran, s.idle()
}
