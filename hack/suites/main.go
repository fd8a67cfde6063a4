// Command suites runs targets of the Makefile, one after the other, and prints at its end what each took:
//
//	go run ./hack/suites vet unit race core
//	go run ./hack/suites -first build vet unit race core
//
// A suite that fails does not keep the next from running. The exit status is 1 if any failed, 130 after Ctrl-C.
//
// Floor 5.
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	first := flag.String("first", "", "target that the others need: if it fails, they are not run")
	program := flag.String("make", "make", "the make to run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := &runner{make: *program, out: os.Stdout, quiet: time.Minute}
	code := r.run(ctx, *first, flag.Args())
	stop()
	os.Exit(code)
}

// runner runs suites. The zero value is not useful: it needs a make and a place to write to.
type runner struct {
	make  string
	out   io.Writer
	quiet time.Duration // after so long without output, a line says that the suite still runs
}

// suite is a test suite that ran, or was skipped.
type suite struct {
	name   string
	result string
	took   time.Duration
	tests  *record
}

const (
	passed      = "ok"
	failed      = "FAILED"
	interrupted = "interrupted"
	notRun      = "not run"
)

// run runs all, prints the table, and returns the exit status.
func (r *runner) run(ctx context.Context, first string, names []string) int {
	began := time.Now()
	var all []suite
	ready := true
	if first != "" {
		s := r.one(ctx, first)
		all, ready = append(all, s), s.result == passed
	}
	for _, name := range names {
		s := suite{name: name, result: notRun, tests: &record{}}
		if ready && ctx.Err() == nil {
			s = r.one(ctx, name)
		}
		all = append(all, s)
	}
	table(r.out, all, time.Since(began))
	return status(all)
}

func status(all []suite) int {
	code := 0
	for _, s := range all {
		switch s.result {
		case interrupted:
			return 130
		case failed:
			code = 1
		}
	}
	return code
}

// one runs a suite and passes on what it prints.
func (r *runner) one(ctx context.Context, name string) suite {
	fmt.Fprintf(r.out, "== %s\n", name)
	began := time.Now()
	w := &watched{out: r.out, last: began}
	ended := make(chan struct{})
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		w.watch(ended, name, r.quiet)
	}()
	s := r.command(ctx, name, w, r.make, "--no-print-directory", name)
	close(ended)
	<-watching
	if s.result != passed {
		fmt.Fprintf(r.out, "== %s: %s after %s\n", name, s.result, short(s.took))
	}
	return s
}

func (r *runner) command(ctx context.Context, name string, out io.Writer, argv ...string) suite {
	s := suite{name: name, result: passed, tests: &record{}}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	// Ctrl-C reaches the whole process group; a signal to this process alone has to be passed on.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Minute
	w := io.MultiWriter(out, s.tests)
	cmd.Stdout, cmd.Stderr = w, w
	began := time.Now()
	err := cmd.Run()
	s.took = time.Since(began)
	switch {
	case ctx.Err() != nil:
		s.result = interrupted
	case err != nil:
		s.result = failed
		s.tests.failures = append(s.tests.failures, err.Error())
	}
	return s
}

const (
	// worth is the minimum time for a package to get its own line in the table, most the maximum of such lines of a suite.
	worth = 15 * time.Second
	most  = 8
	// named is how many failures of a suite are named.
	named = 20
)

// table prints what was run: a line per suite, its slowest packages, and what failed in it.
func table(w io.Writer, all []suite, took time.Duration) {
	fmt.Fprintf(w, "\n%-28s  %-11s  %8s\n", "suite", "result", "time")
	for _, s := range all {
		fmt.Fprintf(w, "%-28s  %-11s  %8s\n", s.name, s.result, short(s.took))
		for _, p := range slowest(s.tests.packages) {
			fmt.Fprintf(w, "  %-26s  %-11s  %8s\n", shortened(p.name), "", short(p.took))
		}
		for i, f := range s.tests.failures {
			if i == named {
				fmt.Fprintf(w, "  and %d more\n", len(s.tests.failures)-named)
				break
			}
			fmt.Fprintf(w, "  failed: %s\n", f)
		}
	}
	fmt.Fprintf(w, "%-28s  %-11s  %8s\n", "in all", "", short(took))
}

func slowest(all []timed) []timed {
	var slow []timed
	for _, p := range all {
		if p.took >= worth {
			slow = append(slow, p)
		}
	}
	slices.SortStableFunc(slow, func(a, b timed) int { return cmp.Compare(b.took, a.took) })
	return slow[:min(len(slow), most)]
}

// shortened is a package without the module before it.
func shortened(name string) string {
	if _, dir, cut := strings.Cut(name, "/vsphere-sandbox/vsphere-sandbox/"); cut {
		return dir
	}
	return path.Base(name)
}

func short(d time.Duration) string {
	d = d.Round(time.Second)
	return fmt.Sprintf("%d:%02d", d/time.Minute, d%time.Minute/time.Second)
}

// record is a writer that keeps what lines of "go test" say: which tests and packages failed, and how long packages took.
// The zero value is ready.
type record struct {
	rest     []byte
	failures []string
	packages []timed
}

// timed is a package of which go test printed a time.
type timed struct {
	name string
	took time.Duration
}

var (
	failedTest   = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)
	endedPackage = regexp.MustCompile(`^(ok|FAIL)\s+(\S+)\s+([0-9.]+s|\[[a-z ]+\]|\(cached\))`)
)

// Write takes the lines that are complete.
func (r *record) Write(p []byte) (int, error) {
	r.rest = append(r.rest, p...)
	for {
		line, rest, whole := bytes.Cut(r.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		r.line(line)
		r.rest = slices.Clone(rest)
	}
}

func (r *record) line(line []byte) {
	if m := failedTest.FindSubmatch(line); m != nil {
		r.failures = append(r.failures, string(m[1]))
		return
	}
	m := endedPackage.FindSubmatch(line)
	if m == nil {
		return
	}
	name := string(m[2])
	if string(m[1]) == "FAIL" {
		r.failures = append(r.failures, name)
	}
	if took, err := time.ParseDuration(string(m[3])); err == nil {
		r.packages = append(r.packages, timed{name, took})
	}
}

// watched passes output on and remembers when there was some.
type watched struct {
	out io.Writer

	mu   sync.Mutex
	last time.Time
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
	return w.out.Write(p)
}

// watch prints a line whenever there was no output for that long, until the suite has ended.
func (w *watched) watch(ended <-chan struct{}, name string, quiet time.Duration) {
	began := time.Now()
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		w.mu.Lock()
		silent := time.Since(w.last) >= quiet
		w.mu.Unlock()
		if silent {
			_, _ = io.WriteString(w, "   "+name+" runs for "+short(time.Since(began))+"\n")
		}
	}
}
