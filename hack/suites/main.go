// Command suites runs targets of the Makefile, one after the other, and prints at its end what each took:
//
//	go run ./hack/suites vet unit race core
//	go run ./hack/suites -first build -beside cross vet unit race core
//
// A suite that fails does not keep the next from running. The exit status is 1 if any failed, 130 after Ctrl-C.
//
// Floor 5.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	first := flag.String("first", "", "target that the others need: if it fails, they are not run")
	beside := flag.String("beside", "", "target that runs at the lowest priority beside the others; its output is printed after theirs")
	program := flag.String("make", "make", "the make to run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := &runner{make: *program, out: os.Stdout, quiet: time.Minute}
	code := r.run(ctx, *first, *beside, flag.Args())
	stop()
	os.Exit(code)
}

// runner runs suites. The zero value is not useful: it needs a make and a place to write to.
type runner struct {
	make  string
	out   io.Writer
	quiet time.Duration // after so long without output, a line says that the suite still runs
}

// suite is one that has been run, or was to be.
type suite struct {
	name   string
	result string
	took   time.Duration
	tests  *record
	said   string // what it printed, where that was kept back
}

const (
	passed      = "ok"
	failed      = "FAILED"
	interrupted = "interrupted"
	notRun      = "not run"
)

// run runs all, prints the table, and returns the exit status.
func (r *runner) run(ctx context.Context, first, beside string, names []string) int {
	began := time.Now()
	var all []suite
	ready := true
	if first != "" {
		s := r.one(ctx, first)
		all, ready = append(all, s), s.result == passed
	}
	var other chan suite
	if beside != "" && ready {
		other = make(chan suite, 1)
		go func() { other <- r.aside(ctx, beside) }()
	}
	for _, name := range names {
		s := suite{name: name, result: notRun, tests: &record{}}
		if ready && ctx.Err() == nil {
			s = r.one(ctx, name)
		}
		all = append(all, s)
	}
	if other != nil {
		fmt.Fprintf(r.out, "== %s, which ran beside the others\n", beside)
		s := <-other
		fmt.Fprint(r.out, s.said)
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

// aside runs a suite in what time the others leave, and keeps its output.
func (r *runner) aside(ctx context.Context, name string) suite {
	var said strings.Builder
	s := r.command(ctx, name, &said, "nice", "-n", "19", r.make, "--no-print-directory", name)
	s.said = said.String()
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
