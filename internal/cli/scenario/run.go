package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/confirm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubernetes"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/limits"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/stage"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/document"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/junit"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/live"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// formatJUnit is the format of results beside the usual ones.
const formatJUnit = "junit"

type runOptions struct {
	*command.Deps
	catalogue catalogue

	choice     choice
	set        source.Settings
	ccm        ccm.Flags
	csi        csi.Flags
	ground     ground.Flags
	kubernetes kubernetes.Flags
	limits     limits.Flags
	speed      float64
	seed       uint64
	patience   float64
	failFast   bool
	artifacts  string
	on         string
	retain     bool
	trust      bool
	asking     confirm.Flags
	format     string

	scenarios []*scenario.Scenario
}

// NewCmdRun returns the command; runF, when not nil, runs in its place.
func NewCmdRun(d *command.Deps, runF func(context.Context, *runOptions) error) *cobra.Command {
	o := &runOptions{Deps: d, catalogue: own(), format: output.Plain, ccm: ccm.Flags{Replicas: 1}}
	runF = command.Or(runF, run)
	cmd := &cobra.Command{
		Use:   "run (NAME | THEME | FILE)... | --suite SUITE | --all",
		Short: "Run scenarios and report which expectations failed",
		Long: `Run scenarios: start a sandbox, inject faults, check that what must happen does
and what must not does not, heal the faults, and stop the sandbox. Scenarios
with the same topology share a sandbox as long as they restore it. With --on,
they run on a sandbox that is already up.

Progress goes to standard error, results to standard output. --artifacts writes
a directory in the layout of TestGrid, with a report: report.html.

A scenario file can do more than inject faults: start a binary as CCM, run
commands that change things, or read other files. If a file that is not built in
does so, the command asks first, or fails without a terminal, unless --trust is
given. "scenario validate" lists such steps.

Ctrl-C stops a run within seconds: its own sandboxes are stopped; on a sandbox
that was up, the faults of the run are healed. A second Ctrl-C exits at once.

Exit status:
  0    all passed
  1    a scenario could not be run
  2    wrong scenario or flag
  3    an expectation failed
  4    this machine lacks a prerequisite
  130  interrupted`,
		Example: `  vsphere-sandbox scenario run power-off
  vsphere-sandbox scenario run outages --artifacts results
  vsphere-sandbox scenario run --suite core -o junit > junit.xml
  vsphere-sandbox scenario run mine.yaml --set workers=3 --ccm module:v1.36.0
  vsphere-sandbox scenario run mine.yaml --on default`,
		ValidArgsFunction: o.catalogue.completeWords(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.choice.words = args
			if err := o.complete(cmd); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	o.set.Bind(cmd)
	o.ccm.Bind(cmd)
	o.csi.Bind(cmd, "")
	o.ground.Bind(cmd)
	o.kubernetes.Bind(cmd)
	o.limits.Bind(cmd)
	o.limits.BindPort(cmd)
	f := cmd.Flags()
	f.StringVar(&o.choice.suite, "suite", "", "run the scenarios of this `SUITE`")
	f.BoolVar(&o.choice.all, "all", false, "run all built-in scenarios")
	f.Float64Var(&o.speed, "speed", float64(pace.Default), "how many times faster than the upstream defaults leases and timeouts run; 1 is real time")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the random choice of targets")
	f.Float64Var(&o.patience, "patience", 1, "factor for every time limit, for slow machines")
	f.BoolVar(&o.failFast, "fail-fast", false, "stop at the first step that does not pass")
	f.StringVar(&o.artifacts, "artifacts", "", "write results, logs and a report to `DIR`")
	f.StringVar(&o.on, "on", "", "run on the sandbox `NAME`, which must be up")
	f.BoolVar(&o.retain, "retain", false, "keep the logs of a sandbox on which a scenario failed, until \"down\"; on kind, also the nodes of one that failed to boot")
	f.BoolVar(&o.trust, "trust", false, "let scenario files start programs, write files and change clusters without asking")
	f.BoolVarP(&o.asking.Yes, "yes", "y", false, "with --on, do not ask before faults change VMs of real vCenters")
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML, formatJUnit)
	// Cannot fail: the flags were added in the lines above.
	_ = cmd.RegisterFlagCompletionFunc("suite", cobra.FixedCompletions([]string{"core"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("on", complete.Flag(complete.Sandboxes(d)))
	_ = cmd.MarkFlagDirname("artifacts")
	return cmd
}

// complete checks what can be checked before anything is touched.
func (o *runOptions) complete(cmd *cobra.Command) error {
	if err := o.choice.validate(); err != nil {
		return err
	}
	if err := pace.Speed(o.speed).Validate(); err != nil {
		return report.UsageError("--speed 10", "--speed: %v", err)
	}
	if !(o.patience > 0) || o.patience > 100 {
		return report.UsageError("--patience 3", "--patience %g: want more than 0 and at most 100", o.patience)
	}
	if o.seed == 0 {
		return report.UsageError("--seed 1", "--seed 0: want 1 or more")
	}
	if err := o.ccm.Check(); err != nil {
		return err
	}
	if err := o.limits.Check(); err != nil {
		return err
	}
	if err := o.ground.Check(); err != nil {
		return err
	}
	if err := o.ground.CheckCCM(&o.ccm); err != nil {
		return err
	}
	if err := o.csi.Check(); err != nil {
		return err
	}
	if err := o.csi.CheckCluster(o.ground.Cluster == ground.Kind); err != nil {
		return err
	}
	if err := o.kubernetes.Check(o.ground.Kubernetes()); err != nil {
		return err
	}
	if o.on != "" {
		taken := []string{"speed", "ccm", "ccm-arg", "ccm-env", "ccm-replicas", "ccm-watch", "cluster", "kubernetes", "retain", "vcenter-port", "ignore-preflight-errors"}
		for _, name := range append(taken, csi.Names()...) {
			if cmd.Flags().Changed(name) {
				return report.UsageError(command.Program+" scenario run --on "+o.on, "--on and --%s exclude each other: the sandbox is up already", name)
			}
		}
	}
	var err error
	o.scenarios, err = o.choice.load(o.catalogue, o.set)
	return err
}

func run(ctx context.Context, o *runOptions) (err error) {
	// "scenario run 2>&1 | head" ends the output, not the run: its faults and sandboxes are cleaned up.
	signal.Ignore(syscall.SIGPIPE)
	switch err := o.trusted(ctx); {
	case errors.Is(err, errDistrusted):
		return report.Exit(report.Failure) // nothing was run, and a person knows
	case err != nil:
		return err
	}
	var given sandbox.CCM
	var program sandbox.Kubernetes
	if o.on == "" { // it is asked wrongly, or not there, before anything is done
		if given, err = o.ccm.Resolve(ctx, o.Streams); err != nil {
			return err
		}
		if err := o.csi.Find(ctx); err != nil {
			return err
		}
		if o.embedded() {
			// An interrupted run has results: nothing was run.
			if program, err = o.kubernetes.Resolve(ctx, o.Streams); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
	s := &session{Show: stage.NewShow(o.Deps), o: o, suite: newSuite(o, program), given: given, kubernetes: program}
	defer s.Close()
	if o.artifacts != "" {
		if err := s.Keep(o.artifacts, s.suite); err != nil {
			return err
		}
	}
	if o.on != "" {
		err = s.onRunning(ctx)
	} else {
		err = s.onOwn(ctx)
	}
	s.suite.Took = time.Since(s.suite.Began)
	s.Finish(ctx, s.suite, &err)
	s.Close()
	if err == nil || len(s.suite.Scenarios) > 0 { // else there is nothing to tell
		if ferr := printSuite(o.Streams.Out, o.format, stage.Masked(s.Show, s.suite)); err == nil {
			err = ferr
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	return exit(s.suite)
}

func (o *runOptions) embedded() bool {
	return o.ground.Kubernetes() == kubernetes.Embedded
}

// printSuite writes the results.
func printSuite(w io.Writer, format string, s *result.Suite) error {
	switch format {
	case output.JSON, output.YAML:
		return output.Document(w, format, func(w io.Writer) error { return document.Write(w, s) })
	case formatJUnit:
		return junit.Write(w, s)
	}
	return live.Summary(w, s)
}

// exit returns the exit status of results that were printed.
func exit(s *result.Suite) error {
	switch s.Verdict() {
	case result.Failed:
		return report.Exit(report.Degraded)
	case result.Errored, result.Running:
		return report.Exit(report.Failure)
	}
	return nil
}

// sandboxName is what sandboxes of the run are called.
func (o *runOptions) sandboxName() (string, error) {
	asked, given := o.Name()
	if !given {
		asked = ""
	}
	name, err := stage.NameOf(asked, "scenario", os.Getpid())
	if err != nil {
		return "", report.UsageError("--name lab", "%v", err)
	}
	return name, nil
}

// environ are a map's as a process takes them.
func environ(m map[string]string) []string {
	var all []string
	for k, v := range m {
		all = append(all, k+"="+v)
	}
	slices.Sort(all)
	return all
}

// runTitle describes a suite's run in a line.
func runTitle(o *runOptions) string {
	what := fmt.Sprintf("%d scenarios", len(o.scenarios))
	if len(o.scenarios) == 1 {
		what = "1 scenario"
	}
	text := fmt.Sprintf("%s: %s, seed %d", o.choice.name(), what, o.seed)
	if o.on != "" {
		return text + ", on sandbox " + o.on
	}
	return text + fmt.Sprintf(", speed %g, ccm %s", o.speed, strings.TrimSpace(orBuiltin(o.ccm.Source)))
}

func orBuiltin(source string) string {
	if source == "" {
		return "builtin"
	}
	return source
}

// errDistrusted says that a person was asked and did not trust the scenarios. It was printed.
var errDistrusted = errors.New("not trusted; nothing was done")

// trusted returns nil when the scenarios may be run: with --trust, when none of them does more than inject faults and read
// its sandbox, or when the person at the terminal says so.
func (o *runOptions) trusted(ctx context.Context) error {
	if o.trust {
		return nil
	}
	var lines []string
	for _, s := range o.scenarios {
		for _, r := range o.reaches(s) {
			lines = append(lines, s.File+":"+r.String())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	if !o.Streams.Interactive() {
		return &report.Error{
			Code: "scenario-untrusted", Exit: report.Usage, Try: o.again() + "   # once you have read them",
			Message: "scenarios that do not come with the program reach beyond faults in their sandbox, and nothing was done\n" + strings.Join(lines, "\n"),
		}
	}
	fmt.Fprintf(o.Streams.Err, "%s\n", printable.Lines(strings.Join(lines, "\n")))
	switch ok, err := o.Streams.Confirm(ctx, "This reaches beyond faults in a sandbox. Do you trust it?"); {
	case err != nil:
		return err
	case !ok:
		fmt.Fprintln(o.Streams.Err, "nothing was done")
		return errDistrusted
	}
	return nil
}

// reaches are those of a scenario that count for this run. A sandbox that is up has its components already, and what the
// command line names is run in place of what the scenario does.
func (o *runOptions) reaches(s *scenario.Scenario) []scenario.Reach {
	return slices.DeleteFunc(s.Reaches(), func(r scenario.Reach) bool {
		return o.on != "" && r.OfComponents() || r.Path == "components.ccm.source" && (o.ccm.Source != "" || o.ccm.Watch != "")
	})
}

// again is the command with --trust.
func (o *runOptions) again() string {
	words := []string{command.Program, "scenario", "run"}
	switch {
	case o.choice.suite != "":
		words = append(words, "--suite", o.choice.suite)
	case o.choice.all:
		words = append(words, "--all")
	}
	words = append(words, o.choice.words...)
	if o.on != "" {
		words = append(words, "--on", o.on)
	}
	return shellescape.QuoteCommand(append(words, "--trust"))
}

// allowed is a sandbox that is up, for scenarios to run on. Where their faults may change VMs of real vCenters, a person
// confirms it once, for all of them.
func (o *runOptions) allowed(ctx context.Context, t *command.Target, status api.Status) (scenario.Sandbox, error) {
	if status.Ground.Real() != api.RealWritable {
		return t.Client, nil
	}
	_, err := confirm.Do(ctx, o.Streams, o.asking, func(consent confirm.Consent) (bool, error) {
		if consent.Confirmed {
			return true, nil
		}
		return false, &api.Error{
			Code: "unconfirmed", Try: "the same with --yes",
			Message: fmt.Sprintf("sandbox %q stands on real vCenters: faults of scenarios change VMs in its write scope, and are taken back when they are healed", t.Name),
		}
	})
	if errors.Is(err, confirm.ErrDeclined) {
		return nil, report.Exit(report.Failure) // it was printed, and nothing ran
	}
	return confirmed{t.Client}, err
}

// confirmed injects what was confirmed beforehand.
type confirmed struct{ *api.Client }

// Inject implements [scenario.Sandbox].
func (c confirmed) Inject(ctx context.Context, r api.InjectRequest) (api.Lease, error) {
	r.Confirmed = true
	return c.Client.Inject(ctx, r)
}
