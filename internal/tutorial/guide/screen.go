package guide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

// Style is the output format of a guide. The zero value is plain text of 80 columns.
type Style struct {
	// Text renders Markdown for the terminal; nil leaves it unchanged.
	Text func(markdown string) string
	// Styled reports whether the terminal understands escape sequences.
	Styled bool
	// Width is the terminal's; 80 if 0.
	Width int
}

// The styles, as ANSI numbers.
const (
	bold  = 1
	dim   = 2
	red   = 31
	green = 32
	amber = 33
)

// screen is the reader's terminal. A command and the guide may write concurrently.
type screen struct {
	look Style

	mu   sync.Mutex
	out  io.Writer
	last time.Time // the last write
	open bool      // the line has no line break yet
	owed bool      // its line break was written ahead of the command's own
	err  error     // the first
}

// Write writes the output of a command unchanged.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := string(p)
	if s.owed {
		text = strings.TrimPrefix(text, "\n") // a shell writes a line break only with what follows
	}
	s.owed = false
	s.put(text)
	return len(p), nil // a closed screen does not end a command
}

func (s *screen) put(text string) {
	if text == "" {
		return
	}
	_, err := io.WriteString(s.out, text)
	if s.err == nil {
		s.err = err
	}
	s.last, s.open = time.Now(), !strings.HasSuffix(text, "\n")
}

// say writes lines of the guide, below any output.
func (s *screen) say(format string, args ...any) { s.line(0, fmt.Sprintf(format, args...)) }

// line writes a line with a style; 0 is none.
func (s *screen) line(style int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed = false
	if s.open {
		s.put("\n")
	}
	s.put(s.styled(style, text) + "\n")
}

// ask writes a question, and leaves the cursor there.
func (s *screen) ask(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		s.put("\n")
	}
	s.put(s.styled(dim, text) + " ")
}

// answered records that the reader has ended the line.
func (s *screen) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = false
}

func (s *screen) styled(style int, text string) string {
	if style == 0 || !s.look.Styled {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", style, text)
}

// text writes Markdown, below an empty line.
func (s *screen) text(markdown string) {
	if s.look.Text != nil {
		markdown = s.look.Text(markdown)
	}
	s.say("\n%s", strings.TrimRight(markdown, "\n"))
}

// command writes a command as it is typed.
func (s *screen) command(text string) {
	s.line(bold, "\n  $ "+strings.ReplaceAll(text, "\n", "\n  > "))
}

// width returns the width of a line.
func (s *screen) width() int {
	const usual = 80
	if s.look.Width == 0 {
		return usual
	}
	return s.look.Width
}

// question puts the answers into brackets, in lines with room for the reader's answer. It does not break an answer.
func (s *screen) question(answers []string) string {
	const room, indent = 4, "   "
	text, line := "", "  ["
	for i, a := range answers {
		end := " · "
		if i == len(answers)-1 {
			end = "]"
		}
		if line != indent && i > 0 && utf8.RuneCountInString(line+a+end)+room > s.width() {
			text, line = text+strings.TrimRight(line, " ")+"\n", indent
		}
		line += a + end
	}
	return text + line
}

// words writes a sentence of the guide, wrapped, below a sign.
func (s *screen) words(style int, sign, text string) {
	width := s.width()
	first := sign
	if sign != "" {
		first += " "
	}
	then := strings.Repeat(" ", utf8.RuneCountInString(first))
	var lines []string
	line, empty := first, true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line, empty = then, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	s.line(style, strings.Join(append(lines, line), "\n"))
}

// still writes a sign when nothing has been written for a while. The next output of a command starts a new line.
func (s *screen) still(often time.Duration, sign string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) < often {
		return
	}
	open := s.open
	if open {
		s.put("\n")
	}
	s.put(s.styled(dim, sign) + "\n")
	s.owed = open
}

// awake reports progress every few seconds until stop, so that the guide does not seem to hang. In what, %s is the elapsed time.
func (s *screen) awake(what string) (stop func()) {
	const often = 4 * time.Second
	begin, done, joined := time.Now(), make(chan struct{}), make(chan struct{})
	s.mu.Lock()
	s.last = begin // the reader's time does not count
	s.mu.Unlock()
	go func() {
		defer close(joined)
		tick := time.NewTicker(often / 4)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				s.still(often, fmt.Sprintf("  … "+what, time.Since(begin).Round(time.Second)))
			}
		}
	}()
	return func() { close(done); <-joined }
}

// errQuit reports that the reader quits, errBack that the reader goes back a step.
var (
	errQuit = errors.New("the reader quits")
	errBack = errors.New("the reader goes back")
)

// answer is a key and its effect; an empty line means the first of several.
type answer struct{ key, does string }

// ask repeats a question until the reader gives one of the answers, and returns its key. q and the end of the input are errQuit,
// b is errBack where there is a step to go back to.
// Input from before the question is ignored.
func (g *walk) ask(ctx context.Context, answers ...answer) (string, error) {
	g.forget(ctx)
	var parts []string
	for i, a := range answers {
		key := a.key
		if i == 0 {
			key = "enter"
		}
		parts = append(parts, key+": "+a.does)
	}
	if g.back >= 0 {
		parts = append(parts, "b: back")
	}
	question := g.screen.question(append(parts, "q: quit"))
	for {
		g.screen.ask(question)
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case line, ok := <-g.Lines:
			if !ok {
				return "", errQuit
			}
			g.screen.answered()
			typed := strings.ToLower(strings.TrimSpace(line))
			for i, a := range answers {
				if typed == a.key || typed == "" && i == 0 {
					return a.key, nil
				}
			}
			switch typed {
			case "q", "quit", "exit":
				return "", errQuit
			case "b", "back":
				if g.back >= 0 {
					return "", errBack
				}
			}
			g.screen.say("  %q is none of these. Type commands in another terminal. To share this world there:\n    %s", strings.TrimSpace(line), g.Env)
		}
	}
}

// forget drops input from before the question: an impatient key is no answer.
func (g *walk) forget(ctx context.Context) {
	const quiet = 20 * time.Millisecond
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-g.Lines:
			if !ok {
				return
			}
			g.screen.answered()
		case <-time.After(quiet):
			return
		}
	}
}

// The guide guesses the effect of a command from its words. A wrong guess costs one question more or less.

// setting matches a command that changes the shell, so that later commands need it in theirs.
var setting = regexp.MustCompile(`^(export|alias|cd|unset|unalias|eval|set|source|\.)\s|^[A-Za-z_][A-Za-z0-9_]*=\S*$`)

// asking matches a command that sets a variable to the output of another, which may differ the next time.
var asking = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=\$\(.*\)$`)

// sets reports whether a command changes its shell.
func sets(command string) bool { return setting.MatchString(command) || asked(command) != "" }

// asked returns the variable that a command sets to the output of another one, or "".
func asked(command string) string {
	if m := asking.FindStringSubmatch(command); m != nil {
		return m[1]
	}
	return ""
}

// boots reports whether a command is a sandbox that lives as long as the command.
func boots(command string) bool {
	words := strings.Fields(command)
	return len(words) > 1 && strings.HasSuffix(words[0], "vsphere-sandbox") && slices.Contains(words, "up") &&
		!slices.Contains(words, "--detach") && !slices.Contains(words, "-d")
}

// reading are prefixes of commands that change nothing.
func reading() []string {
	return []string{
		"kubectl get", "kubectl describe", "kubectl explain", "kubectl api-resources", "kubectl auth can-i", "kubectl logs", "kubectl version",
		"kubectl rollout status", "kubectl wait",
		"vsphere-sandbox get", "vsphere-sandbox list", "vsphere-sandbox status", "vsphere-sandbox explain", "vsphere-sandbox events --",
		"vsphere-sandbox wait", "vsphere-sandbox topology graph", "vsphere-sandbox topology diff", "vsphere-sandbox doctor", "vsphere-sandbox version",
		"vsphere-sandbox fault list", "vsphere-sandbox logs", "vsphere-sandbox tui --replay", "vsphere-sandbox config view",
		"vsphere-sandbox scenario list", "vsphere-sandbox kubectl get", "vsphere-sandbox kubectl describe",
		"cat ", "ls", "head ", "tail ", "wc ", "diff ", "grep ",
	}
}

// govcReads matches verbs of govc that change nothing; they are the last part of a name with dots.
var govcReads = regexp.MustCompile(`^(vsphere-sandbox )?govc( --?\S+( [^- ]\S*)?)*? (\S+\.)?(ls|info|find|about)\b`)

// writes matches signs of a command that writes to a file.
var writes = regexp.MustCompile(`(^|[^<>&0-9])>|\btee\b|\bxargs\b|&&|;`)

// reads reports whether a command changes nothing, so that it can be repeated.
func reads(command string) bool {
	if writes.MatchString(strings.ReplaceAll(command, "2>&1", "")) {
		return false
	}
	return govcReads.MatchString(command) || slices.ContainsFunc(reading(), func(words string) bool {
		rest, ok := strings.CutPrefix(command, words)
		return ok && (rest == "" || strings.HasSuffix(words, " ") || strings.HasSuffix(words, "--") || rest[0] == ' ')
	})
}

// offer asks whether to break something, lets the reader look, and repairs it.
func (g *walk) offer(ctx context.Context, s stop) error {
	o := s.Offer
	if !g.asks() && !g.Yes {
		return nil
	}
	g.screen.line(bold, "\n  Break something?")
	if o.About != "" {
		g.screen.words(0, " ", o.About)
	}
	g.screen.command(o.Command)
	if g.asks() {
		if key, err := g.ask(ctx, answer{"n", "no, continue"}, answer{"y", "break it"}); key != "y" {
			return err
		}
	}
	broken := g.aside(ctx, o.Line, o.Command)
	err := g.admire(ctx, o, broken)
	if err == nil {
		if o.Why != "" && broken == nil {
			g.screen.words(0, " ", o.Why)
		}
		err = g.mend(ctx, o)
	} else {
		// A reader who quits during an offer returns to a world as on the page.
		const bound = time.Minute
		inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
		defer cancel()
		g.screen.command(o.Undo)
		if undone := g.aside(inner, o.Line, o.Undo); undone != nil {
			err = errors.Join(err, undone)
		}
	}
	return err
}

// admire shows what is broken until the reader has seen it.
func (g *walk) admire(ctx context.Context, o *tutorial.Offer, broken error) error {
	if broken != nil {
		g.screen.words(red, "  ✗", "It could not be broken: "+broken.Error())
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if g.Yes && broken != nil {
		return broken
	}
	answers := []answer{{"u", "repair it"}}
	if o.Look != "" {
		answers = append(answers, answer{"l", "look again"})
	}
	for {
		if o.Look != "" && broken == nil {
			g.screen.command(o.Look)
			if err := g.aside(ctx, o.Line, o.Look); err != nil && g.Yes {
				return err
			}
		}
		if g.Yes {
			return nil
		}
		key, err := g.ask(ctx, answers...)
		if key != "l" {
			return err
		}
	}
}

// mend repairs it.
func (g *walk) mend(ctx context.Context, o *tutorial.Offer) error {
	for {
		g.screen.command(o.Undo)
		err := g.aside(ctx, o.Line, o.Undo)
		switch {
		case err == nil:
			g.screen.line(green, "  ✓ put right")
			return nil
		case ctx.Err() != nil || g.Yes:
			return err
		}
		g.screen.words(red, "  ✗", "It could not be repaired: "+err.Error())
		if key, err := g.ask(ctx, answer{"r", "try again"}, answer{"c", "continue anyway"}); key != "r" {
			return err
		}
	}
}

// aside runs a command beside the page, and shows it to the reader.
func (g *walk) aside(ctx context.Context, line int, command string) error {
	defer g.screen.awake("it has run for %s")()
	_, m, err := g.session.Aside(ctx, line, command, g.screen)
	if m != nil {
		return fmt.Errorf("%s:%d: $ %s: exit status %d", g.Page.File, line, command, m.Exit)
	}
	return err
}
