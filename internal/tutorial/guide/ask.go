package guide

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

// errQuit is that the reader wants to go.
var errQuit = errors.New("the reader goes")

// answer is a key with what it does; the first of several is that of an empty line.
type answer struct{ key, does string }

// ask asks until the reader gives one of the answers, and returns its key. q is always one of them, and so is the end of the
// input; both are errQuit. What was typed before the question does not count.
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
			}
			g.screen.say("  %q is none of these. A command is typed in another terminal; there, be in the same world with:\n    %s", strings.TrimSpace(line), g.Env)
		}
	}
}

// forget takes away what was typed while nobody asked: an impatient key is no answer.
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

// What a command means to a guide is told from its words alone. A wrong guess costs a question more, or one less.

// setting is a command that changes the shell, so that later ones need it in theirs.
var setting = regexp.MustCompile(`^(export|alias|cd|unset|unalias|eval|set|source|\.)\s|^[A-Za-z_][A-Za-z0-9_]*=\S*$`)

// asking is a command that sets a variable to what another command prints, which may be something else the next time.
var asking = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=\$\(.*\)$`)

// sets says whether a command changes the shell that it is typed in.
func sets(command string) bool { return setting.MatchString(command) || asked(command) != "" }

// asked is the variable that a command sets to what another one prints; empty for none.
func asked(command string) string {
	if m := asking.FindStringSubmatch(command); m != nil {
		return m[1]
	}
	return ""
}

// boots says whether a command is a sandbox that lives as long as the command.
func boots(command string) bool {
	words := strings.Fields(command)
	return len(words) > 1 && strings.HasSuffix(words[0], "vsphere-sandbox") && slices.Contains(words, "up") &&
		!slices.Contains(words, "--detach") && !slices.Contains(words, "-d")
}

// reading are the words by which a command is known to change nothing.
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

// govcReads are verbs of govc that change nothing; they are the last part of a name with dots.
var govcReads = regexp.MustCompile(`^(vsphere-sandbox )?govc( --?\S+( [^- ]\S*)?)*? (\S+\.)?(ls|info|find|about)\b`)

// writes are signs that a command writes to a file, whatever it is.
var writes = regexp.MustCompile(`(^|[^<>&0-9])>|\btee\b|\bxargs\b|&&|;`)

// reads says whether a command can be run again and again, and changes nothing.
func reads(command string) bool {
	if writes.MatchString(strings.ReplaceAll(command, "2>&1", "")) {
		return false
	}
	return govcReads.MatchString(command) || slices.ContainsFunc(reading(), func(words string) bool {
		rest, ok := strings.CutPrefix(command, words)
		return ok && (rest == "" || strings.HasSuffix(words, " ") || strings.HasSuffix(words, "--") || rest[0] == ' ')
	})
}

// offer asks whether to break something, lets the reader look, and puts it right.
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
		if key, err := g.ask(ctx, answer{"n", "no, go on"}, answer{"y", "break it"}); key != "y" {
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
		// Whoever goes meanwhile comes back to a world as the page has it.
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
	answers := []answer{{"u", "put it right"}}
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

// mend puts it right.
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
		g.screen.words(red, "  ✗", "It could not be put right: "+err.Error())
		if key, err := g.ask(ctx, answer{"r", "try again"}, answer{"g", "go on anyway"}); key != "r" {
			return err
		}
	}
}

// aside runs a command beside the page, for the reader to see.
func (g *walk) aside(ctx context.Context, line int, command string) error {
	defer g.screen.awake("it has run for %s")()
	_, m, err := g.session.Aside(ctx, line, command, g.screen)
	if m != nil {
		return fmt.Errorf("%s:%d: $ %s: exit status %d", g.Page.File, line, command, m.Exit)
	}
	return err
}
