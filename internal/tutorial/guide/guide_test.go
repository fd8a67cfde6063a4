package guide

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

var update = flag.Bool("update", false, "rewrite golden files")

// toy is a page about a lamp, which is a file; its commands are those of the fake shell.
const toy = `# A lamp

You switch a lamp. One minute.

## Get it

<!-- not run: it is far -->
~~~console
$ fetch lamp
~~~

~~~console
$ alias lamp='say lamp'
$ list
nothing
~~~

## Switch it

Switch it *on*, with [the manual](manual.txt):

<!-- check: is on -->
~~~console
$ put on
~~~

Look.

<!-- wait 10s -->
~~~console
$ list
on
~~~

<!-- offer: put broken -->
<!-- about: Does it glow when it is broken? -->
<!-- look: list -->
<!-- why: It does not. -->
<!-- undo: drop broken -->

<!-- needs: docker -->
~~~console
$ contain lamp
~~~

<!-- background -->
<!-- terminal 2 -->
~~~console
$ glow
glowing
~~~

<!-- terminal 2 -->
~~~console
^C
…
~~~

## Put it away

~~~console
$ drop on
$ list
nothing
~~~

## What you saw, and why

- Light.
`

// lab is a guide of a toy, with a reader who answers as a script says.
type lab struct {
	Guide
	root string

	mu      sync.Mutex
	aliased map[int]bool // by shell
	shells  int
	dark    int // how often a glow was ended by ^C
}

func newLab(t *testing.T) *lab {
	t.Helper()
	return newLabOf(t, toy)
}

func newLabOf(t *testing.T, text string) *lab {
	t.Helper()
	root, err := os.MkdirTemp("", "guide-") // a path that is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	l := &lab{root: root, aliased: map[int]bool{}}
	page, err := tutorial.Parse("tutorials/07-lamp/README.md", strings.ReplaceAll(text, "~~~", "```"))
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(root, "vsphere-sandbox")
	script := "#!/bin/sh\nrm -rf \"$VSPHERE_SANDBOX_STATE\"/*\n" // what "down --all" does
	if err := os.WriteFile(binary, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	l.Guide = Guide{
		Page: page, Shelf: Shelf{Dir: filepath.Join(root, "shelf")},
		Env: "eval ENV", Again: "start lamp", Stop: "stop lamp",
		Runner: tutorial.Runner{
			Binary: binary, Patience: time.Minute,
			Has: func(context.Context, string) error { return errors.New("no docker here") },
			Terminals: func() (tutorial.Shell, error) {
				l.shells++
				return &fake{lab: l, number: l.shells, stop: make(chan struct{})}, nil
			},
		},
	}
	return l
}

func (l *lab) state() string { return filepath.Join(l.root, "shelf", "07", "state") }

// fake is a shell.
type fake struct {
	lab    *lab
	number int
	stop   chan struct{}
	value  string // of the variable LAMP
}

func (f *fake) Run(ctx context.Context, command string, out io.Writer) (int, error) {
	word, rest, _ := strings.Cut(command, " ")
	switch word {
	case "alias":
		f.lab.mu.Lock()
		f.lab.aliased[f.number] = true
		f.lab.mu.Unlock()
	case "list":
		entries, err := os.ReadDir(f.lab.state())
		if err != nil {
			return 1, err
		}
		if len(entries) == 0 {
			fmt.Fprintln(out, "nothing")
		}
		for _, e := range entries {
			fmt.Fprintln(out, e.Name())
		}
	case "LAMP=$(list)":
		var all strings.Builder
		exit, err := f.Run(ctx, "list", &all)
		f.value = strings.TrimSpace(all.String())
		return exit, err
	case "LAMP='on'":
		f.value = "on"
	case "printf":
		fmt.Fprintln(out, f.value)
	case "put":
		if err := os.Mkdir(filepath.Join(f.lab.state(), rest), 0o700); err != nil {
			fmt.Fprintln(out, "error: it already exists")
			return 1, nil
		}
	case "is":
		if _, err := os.Stat(filepath.Join(f.lab.state(), rest)); err != nil {
			fmt.Fprintln(out, "it is not", rest)
			return 1, nil
		}
	case "drop":
		if err := os.Remove(filepath.Join(f.lab.state(), rest)); err != nil {
			fmt.Fprintln(out, "error: missing")
			return 1, nil
		}
	case "slow":
		select {
		case <-time.After(10 * time.Second):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	case "glow":
		fmt.Fprintln(out, "glowing")
		select {
		case <-f.stop:
			f.lab.mu.Lock()
			f.lab.dark++
			f.lab.mu.Unlock()
			fmt.Fprintln(out, "dark")
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	default:
		fmt.Fprintf(out, "sh: 1: %s: not found\n", word)
		return 127, nil
	}
	return 0, nil
}

func (f *fake) Interrupt() error { f.stop <- struct{}{}; return nil }
func (f *fake) Close() error     { return nil }

// typist answers questions, one after the other: what the screen shows decides when. An answer that begins with ! is done
// in the reader's own terminal, and the question stays open; ^C ends the walk.
type typist struct {
	t       *testing.T
	screen  strings.Builder
	answers []string
	lines   chan string
	lab     *lab
	ctx     context.Context
	cancel  context.CancelFunc
}

func (y *typist) Write(p []byte) (int, error) {
	y.screen.Write(p)
	text := string(p)
	asks := strings.HasSuffix(text, "] ") || strings.Contains(text, "This terminal notices")
	for asks && len(y.answers) > 0 {
		next := y.answers[0]
		y.answers = y.answers[1:]
		switch {
		case next == "^C":
			y.screen.WriteString("^C\n")
			go y.cancel()
			return len(p), nil
		case next == "eof":
			y.screen.WriteString("^D\n")
			close(y.lines)
			return len(p), nil
		case strings.HasPrefix(next, "!"):
			y.screen.WriteString("(elsewhere: " + next[1:] + ")\n")
			f := &fake{lab: y.lab}
			if _, err := f.Run(context.Background(), next[1:], io.Discard); err != nil {
				y.t.Error(err)
			}
			if strings.HasSuffix(text, "\n") {
				return len(p), nil // it is noticed
			}
		default:
			y.screen.WriteString(next + "\n")
			go func() {
				time.Sleep(time.Second) // a reader is slower
				select {
				case y.lines <- next:
				case <-y.ctx.Done():
				}
			}()
			return len(p), nil
		}
	}
	if asks {
		y.t.Errorf("nothing is answered to:\n%s", y.screen.String())
		go y.cancel()
	}
	return len(p), nil
}

// walk lets a reader walk, and returns what the screen shows then.
func (l *lab) walk(t *testing.T, answers ...string) (string, End, error) {
	t.Helper()
	var (
		end    End
		err    error
		screen string
	)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute) // a script that does not fit ends
		defer cancel()
		y := &typist{t: t, answers: answers, lines: make(chan string), lab: l, ctx: ctx, cancel: cancel}
		g := l.Guide
		g.Lines, g.Out = y.lines, y
		end, err = g.Run(ctx)
		if len(y.answers) > 0 {
			t.Errorf("nothing was asked for %q", y.answers)
		}
		screen = y.screen.String()
	})
	return regexp.MustCompile(`Cleaned up in \S+:`).ReplaceAllString(screen, "Cleared away in …:"), end, err
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run with -update", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

// gone says that nothing is left.
func (l *lab) gone(t *testing.T) {
	t.Helper()
	if entries, err := os.ReadDir(l.Shelf.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestWalk(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []string
		end     End
		err     error
	}{
		{name: "enter all the way", answers: []string{"", "", "", "", "", "", "", "", "", ""}, end: Finished},
		{name: "a block at once, and an offer taken up", answers: []string{"a", "", "", "y", "l", "", "", "", "a", ""}, end: Finished},
		{name: "typed by the reader", answers: []string{"t", "", "", "!put on", "", "", "", "", "!drop on", "", "", ""}, end: Finished},
		{name: "skipped, and what comes of it", answers: []string{"a", "s", "", "e", "c", "", "", "", "", "c", "", ""}, end: Finished},
		{name: "done before", answers: []string{"!put on", "a", "c", "", "", "", "", "", "a", ""}, end: Finished},
		// From the middle of "Switch it" to its beginning, from there to "Get it", and on.
		{name: "back", answers: []string{"a", "", "b", "b", "a", "c", "", "", "", "", "", "a", ""}, end: Finished},
		{name: "an answer that is none", answers: []string{"kubectl get nodes", "q"}, end: Left},
		{name: "the input ends", answers: []string{"", "eof"}, end: Left},
		{name: "interrupted", answers: []string{"", "", "^C"}, end: Left, err: context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			screen, end, err := l.walk(t, c.answers...)
			golden(t, strings.NewReplacer(" ", "-", ",", "").Replace(c.name), screen)
			if end != c.end || !errors.Is(err, c.err) {
				t.Errorf("ended with %v, %v", end, err)
			}
			if c.end == Finished {
				l.gone(t)
			} else if place, err := l.Shelf.Place(l.Page); err != nil || place == nil {
				t.Errorf("the place is lost: %v", err)
			}
		})
	}
}
