package smoke

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	cliccm "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubernetes"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/limits"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/stage"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	programs "github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	sandboxccm "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	sandboxcsi "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/smoke"
)

// settings are the flags of both commands.
type settings struct {
	*command.Deps
	// load finds the scenarios of a suite.
	load func(suite string) ([]*scenario.Scenario, error)
	// checks names the checks that scenarios make.
	checks func([]*scenario.Scenario) []string

	suite      string
	only       []string
	speed      float64
	seed       uint64
	patience   float64
	artifacts  string
	strict     bool
	limits     limits.Flags
	kubernetes kubernetes.Flags
	csi        csi.Flags
	ground     ground.Flags

	// driver means that CSI drivers are judged, in place of cloud controller managers.
	driver bool
	// releases are the Kubernetes releases to run on, without any those of kubernetes: one.
	releases  []kubernetes.Flags
	scenarios []*scenario.Scenario
}

// fullSuite is the suite that all scenarios are in.
const fullSuite = "full"

func newSettings(d *command.Deps, checks func([]*scenario.Scenario) []string) settings {
	return settings{Deps: d, load: smoke.Suite, checks: checks}
}

// bind adds the flags.
func (s *settings) bind(cmd *cobra.Command) {
	s.limits.Bind(cmd)
	s.limits.BindPort(cmd)
	s.ground.Bind(cmd)
	s.kubernetes.Bind(cmd)
	s.csi.Bind(cmd, "")
	f := cmd.Flags()
	f.StringVar(&s.suite, "suite", "core", "scenarios to run: the `SUITE` core or full")
	f.StringSliceVar(&s.only, "only", nil, "run only the checks of these `NAMES`, as in the table; * and ? are wildcards")
	f.Float64Var(&s.speed, "speed", float64(pace.Default), "how many times faster than the upstream defaults leases and timeouts run; 1 is real time")
	f.Uint64Var(&s.seed, "seed", 1, "seed of the random choice of targets")
	f.Float64Var(&s.patience, "patience", 1, "factor for every time limit, for slow machines")
	f.StringVar(&s.artifacts, "artifacts", "", "write results, logs and a report to `DIR`, in the layout of TestGrid")
	f.BoolVar(&s.strict, "strict", false, "count every failure: known ones, and those that the baseline has too")
	// Cannot fail: the flags were added in the lines above.
	_ = cmd.RegisterFlagCompletionFunc("suite", cobra.FixedCompletions(smoke.Suites(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("only", complete.Flag(s.completeOnly))
	_ = cmd.MarkFlagDirname("artifacts")
}

// complete checks what can be checked before anything is touched.
func (s *settings) complete(sources ...string) error {
	ccms := sources
	if s.driver {
		ccms = []string{csi.Builtin}
	}
	for _, text := range ccms {
		if _, err := programs.CCM.Parse(text); err != nil {
			return cliccm.Explain(err)
		}
	}
	if err := pace.Speed(s.speed).Validate(); err != nil {
		return report.UsageError("--speed 10", "--speed: %v", err)
	}
	if !(s.patience > 0) || s.patience > 100 {
		return report.UsageError("--patience 3", "--patience %g: want more than 0 and at most 100", s.patience)
	}
	if s.seed == 0 {
		return report.UsageError("--seed 1", "--seed 0: want 1 or more")
	}
	if !slices.Contains(smoke.Suites(), s.suite) {
		try := "--suite core"
		if near := nearest.Of(s.suite, smoke.Suites()); near != "" {
			try = "--suite " + near
		}
		return report.UsageError(try, "--suite %q: want core or full", s.suite)
	}
	if err := s.limits.Check(); err != nil {
		return err
	}
	if err := s.ground.Check(); err != nil {
		return err
	}
	for _, text := range ccms {
		if err := s.ground.CheckCCM(&cliccm.Flags{Source: text, Replicas: 1}); err != nil {
			return err
		}
	}
	if err := s.csi.Check(); err != nil {
		return err
	}
	if err := s.csi.CheckCluster(s.ground.Cluster == ground.Kind); err != nil {
		return err
	}
	if s.driver {
		if err := s.checkDrivers(s.ground.Cluster == ground.Kind, sources...); err != nil {
			return err
		}
	}
	if len(s.releases) == 0 {
		s.releases = []kubernetes.Flags{s.kubernetes}
	}
	for i := range s.releases {
		if err := s.releases[i].Check(s.ground.Kubernetes()); err != nil {
			return err
		}
	}
	var err error
	if s.scenarios, err = s.load(s.suite); err != nil {
		return err
	}
	return s.checkOnly()
}

// sandboxName is what sandboxes of the run are called.
func (s *settings) sandboxName(kind string) (string, error) {
	asked, given := s.Name()
	if !given {
		asked = ""
	}
	name, err := stage.NameOf(asked, kind, os.Getpid())
	if err != nil {
		return "", report.UsageError("--name lab", "%v", err)
	}
	return name, nil
}

// bench is where cloud controller managers are tried, one sandbox at a time.
type bench struct {
	*stage.Show
	o       *settings
	machine *stage.Booter

	programs   map[string]sandbox.CCM      // by their sources
	drivers    map[string]programs.Program // by their sources, when they are judged
	kubernetes []sandbox.Kubernetes        // the releases to run on
	audit      bool                        // of the API servers
	refused    map[string]error            // what did not come up will not the next time either
	failed     error                       // the first of them
	stops      []error
}

// newBench prepares one, and the directory of artifacts, before anything that takes time.
func (s *settings) newBench(ctx context.Context, kind, source string) (*bench, error) {
	// "smoke | head" ends the output, not the run: its faults and sandboxes are cleaned up.
	signal.Ignore(syscall.SIGPIPE)
	root, err := s.Sandboxes.Root()
	if err != nil {
		return nil, err
	}
	name, err := s.sandboxName(kind)
	if err != nil {
		return nil, err
	}
	var releases []sandbox.Kubernetes
	for i := range s.releases {
		if s.ground.Podded() { // the release is that of the node image
			releases = append(releases, sandbox.Kubernetes{})
			continue
		}
		program, err := s.releases[i].Resolve(ctx, s.Streams)
		if err != nil && ctx.Err() == nil { // an interrupted run has results: nothing was run
			return nil, err
		}
		if slices.ContainsFunc(releases, func(k sandbox.Kubernetes) bool { return k.Version == program.Version && err == nil }) {
			return nil, report.UsageError("vsphere-sandbox kubernetes list", "--kubernetes: %s is given twice", program.Version)
		}
		releases = append(releases, program)
	}
	b := &bench{Show: stage.NewShow(s.Deps), o: s, kubernetes: releases, programs: map[string]sandbox.CCM{}, drivers: map[string]programs.Program{}, refused: map[string]error{}}
	b.machine = &stage.Booter{Root: root, Name: name, Command: kind, Limits: s.limits, Print: b.Println, Busy: b.Busy, Lost: b.Lost}
	if s.artifacts != "" {
		suite := &result.Suite{Name: kind, Began: time.Now(), Seed: s.seed, Speed: s.speed, CCM: source}
		if err := b.Keep(s.artifacts, suite); err != nil {
			b.Close()
			return nil, err
		}
	}
	return b, nil
}

// resolve makes sure that there is the program, which may take minutes.
func (b *bench) resolve(ctx context.Context, text string) (smoke.Program, error) {
	if b.o.driver {
		return b.resolveDriver(ctx, text)
	}
	flags := cliccm.Flags{Source: text, Replicas: 1}
	c, err := flags.Resolve(ctx, b.o.Streams)
	if err != nil {
		return smoke.Program{}, err
	}
	b.programs[c.Program.Source] = c
	return named(c.Program), nil
}

// find checks that there is what each source names, before one is downloaded or built.
func (b *bench) find(ctx context.Context, sources ...string) error {
	b.Busy("looks for " + strings.Join(sources, ", "))
	defer b.Busy("")
	if !b.o.driver {
		if err := cliccm.Find(ctx, sources...); err != nil && ctx.Err() == nil { // an interrupted run has results: nothing was run
			return err
		}
		return nil
	}
	for _, text := range sources {
		if err := b.o.driverOf(text).Find(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// boot boots a sandbox with a program: a cloud controller manager, or a CSI driver beside the built-in one. Its speed and the
// arguments of the cloud controller manager may be the scenario's.
func (b *bench) boot(ctx context.Context, c smoke.Program, need scenario.Requirements) (*scenario.Running, error) {
	ccm, driver := c.Source, &b.o.csi
	if c.Driver {
		ccm, driver = csi.Builtin, b.o.driverOf(c.Source)
	}
	key := c.String() + " " + need.Key()
	if err := b.refused[key]; err != nil {
		return nil, err
	}
	want := stage.Spec{Topology: need.Topology, Speed: cmp.Or(need.Components.Speed, b.o.speed), CCM: b.programs[ccm], Cluster: b.o.ground.Of(false)}
	want.Audit, want.LoadBalancer = b.audit, need.Components.LoadBalancer
	var err error
	on := b.on(c)
	if want.Cluster.Kind != nil {
		want.Cluster.Kind.Knobs = b.o.kubernetes.Knobs(need.Kubernetes())
		if want.CCM, err = (&cliccm.Flags{Source: ccm, Replicas: 1}).Deployable(ctx, want.CCM, b.o.Streams); err != nil {
			return nil, err
		}
	} else if want.Cluster.Kubernetes, err = b.o.releases[on].ResolveFor(ctx, need.Topology, need.Kubernetes(), &b.kubernetes[on], b.o.Streams); err != nil {
		return nil, err
	}
	want.CCM.Replicas = max(need.Components.CCM.Replicas, 1)
	want.CCM.Args = slices.Clone(need.Components.CCM.Args)
	for name, value := range need.Components.CCM.Env {
		want.CCM.Env = append(want.CCM.Env, name+"="+value)
	}
	slices.Sort(want.CCM.Env)
	if want.CSI, err = driver.Judged(need.Components.CSI, need.Components.CSIReplicas).Resolve(ctx, b.o.Streams); err != nil {
		return nil, err
	}
	r, err := b.machine.Boot(ctx, want)
	if err != nil {
		if ctx.Err() == nil {
			b.refused[key] = err
			if !b.audit || !unhealthy.MatchString(err.Error()) { // otherwise it is a finding about the release
				b.failed = cmp.Or(b.failed, err)
			}
		}
		return nil, err
	}
	b.Println("sandbox %s: %s, %s, ready in %.1fs", r.Name, c, want.Topology.Count(), r.Took.Seconds())
	b.Began(ctx, r.Client)
	return &scenario.Running{
		Sandbox: r.Client, Name: r.Name, CCM: c.Source, CCMVersion: c.Version, Command: stage.Runner(b.o.Self, r.Name),
		Stop: func(ctx context.Context) error {
			b.Collect(ctx, r.Client, 0)
			err := r.Stop(false)
			b.stops = append(b.stops, err)
			return err
		},
	}, nil
}

// on returns the index of the release that a CCM runs on.
func (b *bench) on(c smoke.Program) int {
	return max(0, slices.IndexFunc(b.kubernetes, func(k sandbox.Kubernetes) bool { return k.Version == c.Kubernetes }))
}

// versions lists the releases.
func (b *bench) versions() string {
	var list []string
	for _, k := range b.kubernetes {
		list = append(list, k.Version)
	}
	return strings.Join(list, ", ")
}

// ended is what went wrong with sandboxes.
func (b *bench) ended() error { return cmp.Or(b.failed, errors.Join(b.stops...)) }

// versionTime is how long a program may take to say its version.
const versionTime = 20 * time.Second

// version runs a program with --version.
func (b *bench) version(ctx context.Context, c smoke.Program) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	path, args, builtin := b.programs[c.Source].Program.Path, []string{"--version"}, sandboxccm.Command
	if c.Driver {
		path, builtin = b.drivers[c.Source].Path, sandboxcsi.Command
	}
	if path == "" {
		path, args = b.o.Self, []string{builtin, "--version"}
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w: %s", c, err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// write adds a file to the artifacts, of results that were masked.
func (b *bench) write(name string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	return b.Dir.WriteDocument(name, text.Bytes())
}

// writers are the files of a report beside those of all runs.
func writers(r *smoke.Report) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"artifacts/smoke.md":   func(w io.Writer) error { return smoke.Table(w, r) },
		"artifacts/smoke.json": func(w io.Writer) error { return smoke.JSON(w, r) },
	}
}

// verdict returns the exit status of what was printed; errs are additional errors.
func verdict(ctx context.Context, v result.Verdict, errs ...error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	switch v {
	case result.Interrupted: // ctx has ended, above
		return context.Canceled
	case result.Failed:
		return report.Exit(report.Degraded)
	case result.Errored, result.Running:
		return report.Exit(report.Failure)
	}
	return nil
}
