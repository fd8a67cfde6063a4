package tutorial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fake is a terminal with the commands say WORDS…, fail STATUS, count (prints its number of runs), serve (runs until it is
// interrupted), hang (never ends), broken (ends the shell), leave NAME (writes to the state directory).
type fake struct {
	name   string
	state  func() string
	counts int
	stop   chan struct{}

	mu     sync.Mutex
	closed bool
}

func (f *fake) Run(ctx context.Context, command string, out io.Writer) (int, error) {
	word, rest, _ := strings.Cut(command, " ")
	switch word {
	case "say":
		fmt.Fprintln(out, strings.ReplaceAll(rest, "\n", "|"))
	case "name":
		fmt.Fprintln(out, f.name)
	case "fail":
		var status int
		_, err := fmt.Sscan(rest, &status)
		return status, err
	case "until": // fails until the state directory has it
		if _, err := os.Stat(filepath.Join(f.state(), rest)); err != nil {
			fmt.Fprintln(out, "not yet")
			return 1, nil
		}
	case "drop":
		return 0, os.Remove(filepath.Join(f.state(), rest))
	case "count":
		f.counts++
		fmt.Fprintln(out, f.counts)
	case "serve":
		fmt.Fprintln(out, "serving")
		select {
		case <-f.stop:
			fmt.Fprintln(out, "stopped")
			return 130, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	case "hang":
		fmt.Fprintln(out, "hanging")
		<-ctx.Done()
		return 0, ctx.Err()
	case "broken":
		return 0, errors.New("sh ended")
	case "leave":
		return 0, os.Mkdir(filepath.Join(f.state(), rest), 0o700)
	default:
		return 127, nil
	}
	return 0, nil
}

func (f *fake) Interrupt() error { f.stop <- struct{}{}; return nil }

func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

// lab is a runner of fakes.
type lab struct {
	Runner
	dir   string
	fakes []*fake
}

func newLab(t *testing.T) *lab {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	l := &lab{dir: os.TempDir()}
	l.Binary = filepath.Join(t.TempDir(), program)
	// It does what "down --all" does.
	script := "#!/bin/sh\ntest \"$*\" = 'down --all' && rm -rf \"$VSPHERE_SANDBOX_STATE\"/*\n"
	if err := os.WriteFile(l.Binary, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	l.Patience, l.RetryInterval = 10*time.Second, time.Millisecond
	l.Terminals = func() (Shell, error) {
		f := &fake{name: fmt.Sprintf("fake-%d", len(l.fakes)+1), stop: make(chan struct{}), state: func() string {
			found, _ := filepath.Glob(filepath.Join(l.dir, "*", "state"))
			return found[0]
		}}
		l.fakes = append(l.fakes, f)
		return f, nil
	}
	return l
}

// clean says that nothing is left, however the run went.
func (l *lab) clean(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(l.dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left in the temporary directory: %v, %v", entries, err)
	}
	for _, f := range l.fakes {
		if !f.closed {
			t.Errorf("terminal %s is still open", f.name)
		}
	}
}

const open, end = "~~~console\n", "~~~\n"

func TestRun(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"as it says":         {open + "$ say a  b\na …\n$ say c\nc\n" + end, ""},
		"no output":          {open + "$ fail 0\n" + end, ""},
		"unexpected output":  {open + "$ say a\n" + end, "x:2: $ say a: prints something else\n- (the end)\n+ a\n"},
		"other output":       {open + "$ say a\n\nb\n" + end, "x:3: $ say a: prints something else\n- (the end)\n+ a\n"},
		"missing":            {open + "$ fail 0\nb\n" + end, "x:3: $ fail 0: prints something else\n- b\n+ (the end)\n"},
		"all of it is shown": {open + "$ say a\nb\n" + end, "\noutput:\n  a"},
		"fails":              {open + "$ fail 3\n" + end, "x:2: $ fail 3: exit status 3, want 0"},
		"fails as it should": {"<!-- exit 3 -->\n" + open + "$ fail 3\n" + end, ""},
		"only the last":      {"<!-- exit 3 -->\n" + open + "$ fail 3\n$ fail 3\n" + end, "x:3: $ fail 3: exit status 3, want 0"},
		"does not fail":      {"<!-- exit 3 -->\n" + open + "$ fail 0\n" + end, "x:3: $ fail 0: exit status 0, want 3"},
		"the first ends it":  {open + "$ fail 1\n" + end + open + "$ broken\n" + end, "x:2: $ fail 1"},
		"continued":          {open + "$ say a\n> b\na|b\n" + end, ""},
		"not run":            {"<!-- not run: it breaks -->\n" + open + "$ broken\n" + end, ""},
		"waited for":         {"<!-- wait 10s -->\n" + open + "$ count\n4\n" + end, ""},
		"waited in vain":     {"<!-- wait 20ms -->\n" + open + "$ say a\nb\n" + end, "x:4: $ say a: prints something else (tried for 20ms)\n- b\n+ a\n"},
		"breaks":             {open + "$ broken\n" + end, "x:2: $ broken: sh ended"},
		"another terminal":   {open + "$ name\nfake-1\n" + end + "<!-- terminal 2 -->\n" + open + "$ name\nfake-2\n" + end, ""},
		"background": {
			"<!-- background -->\n" + open + "$ serve\nserving\n" + end + "<!-- exit 130 -->\n" + open + "^C\nstopped\n$ fail 130\n" + end,
			"x:8: $ ^C: exit status 130, want 0",
		},
		"background, beside it": {
			"<!-- terminal 3 -->\n<!-- background -->\n" + open + "$ serve\n…\n" + end + open + "$ name\nfake-2\n" + end +
				"<!-- terminal 3 -->\n<!-- exit 130 -->\n" + open + "^C\nstopped\n" + end, "",
		},
		"background, says otherwise": {"<!-- background -->\n" + open + "$ say a\nb\n" + end, "ended with status 0 instead of running"},
		"background, left":           {"<!-- background -->\n" + open + "$ serve\nserving\n" + end, "x:3: still runs in terminal 1 at the end of the page: $ serve"},
		"taken": {
			"<!-- background -->\n" + open + "$ serve\nserving\n" + end + open + "$ say a\na\n" + end,
			`x:7: $ say a: terminal 1 is taken by "serve" of line 3`,
		},
		"nothing to interrupt": {open + "^C\n" + end, "x:2: $ ^C: nothing runs in terminal 1"},
		"leaves something":     {open + "$ leave mine\n" + end, "x: leaves behind: sandbox mine"},
		"leaves a file":        {open + "$ leave ../clone/mine\n" + end, "x: leaves behind: file mine"},
		"fails and leaves":     {open + "$ leave mine\n$ fail 1\n" + end, "x:3: $ fail 1: exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			p, err := Parse("x", strings.ReplaceAll(c.text, "~~~", "```"))
			if err != nil {
				t.Fatal(err)
			}
			err = l.Run(t.Context(), p)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
			l.clean(t)
		})
	}
}

// What runs when a session is left is asked to end before it is killed.
func TestLeave(t *testing.T) {
	l := newLab(t)
	p := page(t, "<!-- background -->\n"+open+"$ serve\nserving\n"+end)
	s, err := l.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Step(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	served := s.terminals[1]
	if err := s.CloseTerminals(); err != nil {
		t.Error(err)
	}
	if _, done, _ := served.look(); done == nil || done.exit != 130 || done.err != nil {
		t.Errorf("it ended with %+v", done)
	}
	if _, err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	l.clean(t)
}

// A command that never ends does not hold up the run for longer than its patience, nor does a context that ends.
func TestDeadline(t *testing.T) {
	for name, text := range map[string]string{
		"hangs":                        open + "$ hang\n" + end,
		"hangs, and is waited for":     "<!-- wait 1ms -->\n" + open + "$ hang\nx\n" + end,
		"in the background, in vain":   "<!-- background -->\n" + open + "$ hang\nx\n" + end,
		"does not go when interrupted": "<!-- background -->\n" + open + "$ hang\nhanging\n" + end + open + "^C\n" + end,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.Patience = 20 * time.Millisecond
			l.Terminals = patient(l.Terminals)
			err := l.Run(t.Context(), page(t, text))
			if err == nil || !strings.Contains(err.Error(), "did not end in time") && !strings.Contains(err.Error(), "prints something else (tried for 20ms)") {
				t.Error(err)
			}
			l.clean(t)
		})
	}
	t.Run("the caller ends it", func(t *testing.T) {
		l := newLab(t)
		ctx, cancel := context.WithCancel(t.Context())
		l.Ran = func(*Command, Result) { cancel() }
		if err := l.Run(ctx, page(t, open+"$ say a\na\n$ hang\n"+end)); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		l.clean(t)
	})
}

// patient makes terminals that do not listen to ^C.
func patient(of func() (Shell, error)) func() (Shell, error) {
	return func() (Shell, error) {
		s, err := of()
		return deaf{s}, err
	}
}

type deaf struct{ Shell }

func (deaf) Interrupt() error { return nil }

func TestRegenerate(t *testing.T) {
	const before = open + "$ say new\nold\n$ say same 17\nsame   …\n" + end +
		"<!-- wait 10s -->\n" + open + "$ count\n3\n" + end
	l := newLab(t)
	got, err := l.Regenerate(t.Context(), page(t, before))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(strings.Replace(before, "old", "new", 1), "~~~", "```")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	l.clean(t)
	for name, text := range map[string]string{
		"another status":     open + "$ fail 1\n" + end,
		"waited for in vain": "<!-- wait 20ms -->\n" + open + "$ say a\nb\n" + end,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			var m *Mismatch
			if got, err := l.Regenerate(t.Context(), page(t, text)); !errors.As(err, &m) || got != "" {
				t.Errorf("%q, %v", got, err)
			}
			l.clean(t)
		})
	}
}

// The paths of the run are not what a page says.
func TestPaths(t *testing.T) {
	h := &home{dir: "/tmp/vst-1", clone: "/tmp/vst-1/clone", binary: "/src/bin/" + program}
	got := h.hide("/src/bin/vsphere-sandbox up; /tmp/vst-1/clone/bin/vsphere-sandbox; /tmp/vst-1/state/default; /tmp/vst-12/x")
	if want := "…/vsphere-sandbox up; …/vsphere-sandbox; …/state/default; /tmp/vst-12/x"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// No program, no run.
func TestNoBinary(t *testing.T) {
	l := newLab(t)
	l.Binary += "-not"
	if err := l.Run(t.Context(), page(t, open+"$ say a\na\n"+end)); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	l.clean(t)
}
