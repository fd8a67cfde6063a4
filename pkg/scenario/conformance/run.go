package conformance

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Options are how tests are run. Program, Kubeconfig and Dir are required.
type Options struct {
	// Program is e2e.test, Kubeconfig the file that names the cluster.
	Program, Kubeconfig string
	// Kubectl is the program of which "kubectl" is a command, for tests that run kubectl. Default: the kubectl in $PATH.
	Kubectl string
	// Driver is the definition file of a storage driver, for which the program then has more tests. Optional.
	Driver string
	// Destroy destroys the VM of a node, for tests that ask the cloud provider for that. Optional: the program has no provider then.
	Destroy func(ctx context.Context, node string) error
	// Dir is an existing folder for reports of single runs of the program. They are removed.
	Dir string
	// Log gets what the program prints. Optional.
	Log io.Writer
	// Parallel is how many programs run at the same time. Default: 1. Tests with the label Serial run alone.
	Parallel int
	// Batch is how many tests one run of the program has at most: results are known after each. Default: 12.
	Batch int
	// Known are results of an earlier run, which are not run again.
	Known []Outcome
	// Keep is called after each run of the program with all outcomes so far. Optional.
	Keep func([]Outcome) error
	// Running is called with the text of a test that runs now, Ended with an outcome and how many there are. They must not block.
	// Optional.
	Running func(text string)
	Ended   func(o Outcome, number, of int)
	// Patience is the time limit for a test, on average over a run of the program. Default: 10 minutes.
	Patience time.Duration
}

// Outcome is the result of one test.
type Outcome struct {
	Spec
	Verdict result.Verdict `json:"verdict"`
	Message string         `json:"message,omitempty"`
	Began   time.Time      `json:"began"`
	Took    time.Duration  `json:"took"`
	// Flaky means that it failed once, and passed when it was run again.
	Flaky bool `json:"flaky,omitempty"`
}

func (o Options) withDefaults() Options {
	o.Parallel, o.Batch = max(o.Parallel, 1), cmp.Or(max(o.Batch, 0), 12)
	o.Patience = cmp.Or(o.Patience, 10*time.Minute)
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Running == nil {
		o.Running = func(string) {}
	}
	if o.Ended == nil {
		o.Ended = func(Outcome, int, int) {}
	}
	if o.Keep == nil {
		o.Keep = func([]Outcome) error { return nil }
	}
	return o
}

// runner is one run of a plan.
type runner struct {
	Options

	mu       sync.Mutex
	outcomes map[string]Outcome // by the names of tests
	number   int
	of       int
	kubectl  string // a script, or ""
	provider string // the socket of the cloud provider, or ""
	runs     int
	kept     error
}

// Run runs the tests of a plan, those that fail once more, and returns the outcomes in the order of the plan. When ctx ends, the
// program is asked to end and clean up; what was not run is [result.Interrupted]. The error is about the run, not about a test.
func Run(ctx context.Context, p *Plan, o Options) (_ []Outcome, err error) {
	r := &runner{Options: o.withDefaults(), outcomes: map[string]Outcome{}, of: len(p.Run)}
	if r.Kubectl != "" {
		r.kubectl = filepath.Join(r.Dir, "kubectl")
		script := "#!/bin/sh\nexec " + shellescape.Quote(r.Kubectl) + " kubectl \"$@\"\n"
		if err := os.WriteFile(r.kubectl, []byte(script), 0o700); err != nil { //nolint:gosec // it is run
			return nil, err
		}
		defer os.Remove(r.kubectl)
	}
	if r.Destroy != nil {
		socket, stop, err := provide(ctx, r.Dir, r.Destroy)
		if err != nil {
			return nil, err
		}
		r.provider = socket
		defer func() { err = errors.Join(err, stop()) }()
	}
	var shapes mask.Mask // results that were kept are masked: "Basic StatefulSet" has the shape of a credential
	for _, known := range o.Known {
		at := slices.IndexFunc(p.Run, func(s Spec) bool { return s.Name == known.Name || shapes.String(s.Name) == known.Name })
		if at >= 0 && known.Verdict == result.Passed {
			known.Spec = p.Run[at]
			r.outcomes[known.Name] = known
			r.number++
		}
	}
	var together, alone, last []Spec
	for _, s := range p.Run {
		_, known := r.outcomes[s.Name]
		switch {
		case known:
		case s.Has("Disruptive"):
			last = append(last, s) // the cluster is not the same afterwards
		case s.Has("Serial") || strings.Contains(s.Name, "[Serial]"):
			alone = append(alone, s)
		default:
			together = append(together, s)
		}
	}
	err = r.together(ctx, together)
	for _, specs := range [][]Spec{alone, last} {
		for batch := range slices.Chunk(specs, r.Batch) {
			if err == nil && ctx.Err() == nil {
				err = r.batch(ctx, batch, false)
			}
		}
	}
	for _, s := range p.Run {
		if got := r.outcomes[s.Name]; err == nil && ctx.Err() == nil && (got.Verdict == result.Failed || got.Verdict == result.Errored) {
			err = r.batch(ctx, []Spec{s}, true)
		}
	}
	return r.all(p), errors.Join(err, r.kept)
}

// all returns the outcomes in the order of a plan.
func (r *runner) all(p *Plan) []Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Outcome
	for _, s := range p.Run {
		got, ok := r.outcomes[s.Name]
		if !ok {
			got = Outcome{Spec: s, Verdict: result.Interrupted, Message: "not run"}
		}
		all = append(all, got)
	}
	return all
}

// together runs tests in several programs at the same time.
func (r *runner) together(ctx context.Context, specs []Spec) error {
	batches := make(chan []Spec)
	errs := make([]error, r.Parallel)
	var wg sync.WaitGroup
	for i := range r.Parallel {
		wg.Go(func() {
			for batch := range batches {
				if errs[i] == nil && ctx.Err() == nil {
					errs[i] = r.batch(ctx, batch, false)
				}
			}
		})
	}
	for batch := range slices.Chunk(specs, r.Batch) {
		batches <- batch
	}
	close(batches)
	wg.Wait()
	return errors.Join(errs...)
}

// grace is how long the program may clean up once it is asked to end.
const grace = 10 * time.Second

// batch runs the program for some tests. again says that they have failed once.
func (r *runner) batch(ctx context.Context, specs []Spec, again bool) error {
	r.mu.Lock()
	r.runs++
	report := filepath.Join(r.Dir, fmt.Sprintf("run-%d.json", r.runs))
	r.mu.Unlock()
	defer os.Remove(report)
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = regexp.QuoteMeta(s.Name)
	}
	provider := "skeleton"
	if r.provider != "" {
		provider = "vsphere-sandbox"
	}
	args := []string{
		"--kubeconfig=" + r.Kubeconfig, "--provider=" + provider, "--disable-log-dump", "--dump-logs-on-failure=false",
		"--ginkgo.v", "--ginkgo.no-color", "--ginkgo.json-report=" + report,
		"--ginkgo.grace-period=" + (grace / 2).String(), fmt.Sprintf("--ginkgo.timeout=%s", time.Duration(len(specs))*r.Patience),
		"--ginkgo.focus=(" + strings.Join(names, "|") + ")$",
	}
	args = append(args, driverArgs(r.Driver)...)
	if r.kubectl != "" {
		args = append(args, "--kubectl-path="+r.kubectl)
	}
	cmd := exec.CommandContext(ctx, r.Program, args...)
	cmd.Dir = r.Dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + r.Dir, "HOME=" + r.Dir, "KUBECONFIG=" + r.Kubeconfig, "E2E_PROVIDER_SOCKET=" + r.provider}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C is for this process, which passes it on once
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = grace
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	followed := make(chan struct{})
	last := ""
	go func() {
		defer close(followed)
		last = r.follow(out, specs, again)
	}()
	began := time.Now()
	err := cmd.Run()
	_ = in.Close()
	<-followed
	read, rerr := readReport(report)
	if rerr != nil && ctx.Err() == nil {
		why := cmp.Or(last, "ended without a report")
		if err != nil {
			why = fmt.Sprintf("%v: %s", err, why)
		}
		for _, s := range specs {
			r.end(Outcome{Spec: s, Verdict: result.Errored, Message: "e2e.test: " + why, Began: began, Took: time.Since(began)}, again)
		}
		return r.keep()
	}
	if read != nil {
		if ctx.Err() != nil {
			read.SpecialSuiteFailureReasons = nil // the interruption: tests that did not run are no errors
		}
		r.record(read, specs, again)
	}
	return r.keep()
}

func (r *runner) keep() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Outcome, 0, len(r.outcomes))
	for _, o := range r.outcomes {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b Outcome) int { return strings.Compare(a.Name, b.Name) })
	return r.Keep(all)
}

// record takes the outcomes of a report.
func (r *runner) record(report *suiteReport, specs []Spec, again bool) {
	special := strings.Join(report.SpecialSuiteFailureReasons, "; ")
	for i := range report.SpecReports { // what fails before the tests is why none ran
		if s := &report.SpecReports[i]; s.LeafNodeType != test && s.failed() {
			special = s.LeafNodeType + ": " + oneLine(s.Failure.Message)
		}
	}
	for i := range report.SpecReports {
		s := &report.SpecReports[i]
		at := slices.IndexFunc(specs, func(o Spec) bool { return o.Name == s.name() })
		if s.LeafNodeType != test || at < 0 {
			continue
		}
		o := Outcome{Spec: specs[at], Began: s.StartTime, Took: s.RunTime}
		switch {
		case s.State == "passed":
			o.Verdict = result.Passed
		case s.State == "interrupted":
			o.Verdict, o.Message = result.Interrupted, "interrupted"
		case s.failed():
			o.Verdict = result.Failed
			o.Message = fmt.Sprintf("%s (%s:%d)", oneLine(s.Failure.Message), filepath.Base(s.Failure.Location.FileName), s.Failure.Location.LineNumber)
		case s.State == "skipped" && s.Failure.Message != "": // by the test itself
			o.Verdict, o.Message = result.Skipped, oneLine(s.Failure.Message)
		case special != "":
			o.Verdict, o.Message = result.Errored, special
		default:
			continue // an interrupted run has not come to it
		}
		r.end(o, again)
	}
}

// most is how long a message may be.
const most = 300

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

// end keeps an outcome.
func (r *runner) end(o Outcome, again bool) {
	r.mu.Lock()
	if again && o.Verdict == result.Interrupted {
		r.mu.Unlock()
		return // the first result stands
	}
	if again && o.Verdict == result.Passed {
		o.Flaky, o.Message = true, "flaky: failed once ("+r.outcomes[o.Name].Message+"), and passed when it was run again"
	}
	if !again {
		r.number++
	}
	r.outcomes[o.Name] = o
	number := r.number
	r.mu.Unlock()
	r.Ended(o, number, r.of)
}

// follow copies the output to the log, and reports the test that runs. It returns the last line.
func (r *runner) follow(out io.Reader, specs []Spec, again bool) string {
	text, last := "", ""
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			r.mu.Lock()
			_, _ = io.WriteString(r.Log, line) // the log is a help, no result
			r.mu.Unlock()
		}
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
		at := slices.IndexFunc(specs, func(s Spec) bool { return strings.HasPrefix(line, s.Name) })
		if at >= 0 && text != specs[at].Name && !strings.HasPrefix(line, "[It]") {
			text = specs[at].Name
			if again {
				r.Running("once more: " + text)
			} else {
				r.Running(text)
			}
		}
		if err != nil {
			return last
		}
	}
}
