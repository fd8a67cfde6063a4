package guide

import (
	"context"
	"errors"
	"strings"
	"time"
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
