package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/capability"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubernetes"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/limits"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/stage"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/programs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/conformance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// resultsFile is where results are in the artifacts, for --resume.
const resultsFile = "artifacts/conformance.json"

// topologyName is the topology of the sandbox: that of "up".
const topologyName = "zones-us-eu"

// nodes are the parameters of the topology. On kind each node is a container with its own kubelet, and no test needs more than one
// worker in each zone.
func nodes(cluster string) []topology.Setting {
	if cluster != ground.Kind {
		return nil
	}
	return []topology.Setting{{Name: "workers-east", Value: "1"}, {Name: "workers-eu", Value: "1"}}
}

type options struct {
	*command.Deps
	suite       string
	focus, skip string
	parallel    int
	artifacts   string
	resume      bool
	format      string
	ground      ground.Flags
	csi         csi.Flags
	kubernetes  kubernetes.Flags
	limits      limits.Flags

	// registry is asked whether it can be reached, cache is that of hack/kind-node, "" for its default.
	registry, cache string

	choice conformance.Choice
	before conformance.Report // of the run that is resumed
}

// NewCmdConformance returns the command; runF, when not nil, runs in its place.
func NewCmdConformance(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{Deps: d, format: output.Plain, registry: registry}
	runF = command.Or(runF, run)
	cmd := &cobra.Command{
		Use:   "conformance [--suite SUITE] [--focus REGEXP] [--skip REGEXP]",
		Short: "Run Kubernetes' own end-to-end tests",
		Long: `Run Kubernetes' own end-to-end tests on a separate sandbox:

  quick        the conformance tests of the API machinery
  nodes        conformance tests of nodes: their life, taints, scheduling; and
               the test that destroys the VM of a node
  storage      conformance tests of volumes; with --cluster kind those of a CSI
               driver too (External Storage), of ours or of --csi
  conformance  all conformance tests

The program with the tests, e2e.test of the cluster's release, is built into the
cache the first time. That takes a Go toolchain and minutes. What the cluster
cannot run is skipped, with its reason. With --cluster kind the nodes load the
tests' images from the cache of hack/kind-node if "build -tests" has made them
there, and else pull them. A test that fails is run once more; if
it passes then, it counts as passed, and the table says that it is flaky.

Progress goes to standard error, a Markdown table by SIG to standard output.
With --artifacts, --resume runs only what the run before has not passed.

Exit status:
  0    all passed
  1    something could not be run
  2    wrong flag
  3    a test failed
  4    this machine lacks a prerequisite
  130  interrupted; the sandbox is stopped`,
		Example: `  vsphere-sandbox conformance
  vsphere-sandbox conformance --suite conformance --artifacts results
  vsphere-sandbox conformance --suite conformance --artifacts results --resume
  vsphere-sandbox conformance --focus Watchers --kubernetes v1.36
  vsphere-sandbox conformance --suite storage --cluster kind --csi module:v3.7.0`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.suite, "suite", conformance.Quick, "tests to run: the `SUITE` quick, nodes, storage or conformance")
	f.StringVar(&o.focus, "focus", "", "run only tests whose text matches this `REGEXP`")
	f.StringVar(&o.skip, "skip", "", "do not run tests whose text matches this `REGEXP`")
	f.IntVar(&o.parallel, "parallel", 1, "how many tests run at the same time; serial ones run alone")
	f.StringVar(&o.artifacts, "artifacts", "", "write results, logs and a report to `DIR`, in the layout of TestGrid")
	f.BoolVar(&o.resume, "resume", false, "with --artifacts: do not run again what has passed there")
	o.ground.Bind(cmd)
	o.csi.Bind(cmd, "")
	o.kubernetes.Bind(cmd)
	o.limits.Bind(cmd)
	o.limits.BindPort(cmd)
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	// Cannot fail: the flags were added in the lines above.
	_ = cmd.RegisterFlagCompletionFunc("suite", cobra.FixedCompletions(conformance.Suites(), cobra.ShellCompDirectiveNoFileComp))
	for _, name := range []string{"focus", "skip", "parallel"} {
		_ = cmd.RegisterFlagCompletionFunc(name, complete.None)
	}
	_ = cmd.MarkFlagDirname("artifacts")
	return cmd
}

// mostParallel bounds the programs: each has all tests in memory, 200 MB.
const mostParallel = 32

// complete checks what can be checked before anything is touched.
func (o *options) complete() error {
	if !slices.Contains(conformance.Suites(), o.suite) {
		try := "--suite " + conformance.Quick
		if near := nearest.Of(o.suite, conformance.Suites()); near != "" {
			try = "--suite " + near
		}
		return report.UsageError(try, "--suite %q: want %s", o.suite, strings.Join(conformance.Suites(), ", "))
	}
	o.choice = conformance.Choice{Suite: o.suite, Containers: o.ground.Cluster == ground.Kind, Withheld: capability.Withheld}
	for flag, into := range map[string]**regexp.Regexp{o.focus: &o.choice.Focus, o.skip: &o.choice.Skip} {
		if flag == "" {
			continue
		}
		re, err := regexp.Compile(flag)
		if err != nil {
			return report.UsageError(`--focus 'Watchers|Events'`, "--focus, --skip: %v", err)
		}
		*into = re
	}
	if o.parallel < 1 || o.parallel > mostParallel {
		return report.UsageError("--parallel 4", "--parallel %d: want 1 to %d", o.parallel, mostParallel)
	}
	if o.resume && o.artifacts == "" {
		return report.UsageError("--resume --artifacts DIR", "--resume needs --artifacts, the directory of the run before")
	}
	if err := o.limits.Check(); err != nil {
		return err
	}
	if err := o.ground.Check(); err != nil {
		return err
	}
	if err := o.checkCSI(); err != nil {
		return err
	}
	return o.kubernetes.Check(o.ground.Kubernetes())
}

// checkCSI checks the driver. The default is ours where the tests of a driver are run, and off otherwise.
func (o *options) checkCSI() error {
	if o.csi.Driver == "" && !o.csi.Chosen() {
		o.csi.Driver = csi.Builtin
		if !o.external() {
			o.csi.Driver = csi.Off
		}
	}
	if err := o.csi.Check(); err != nil {
		return err
	}
	return o.csi.CheckCluster(o.ground.Cluster == ground.Kind)
}

// external reports whether the tests of a CSI driver are run: hollow nodes have no volumes that their programs could write to.
func (o *options) external() bool {
	return o.suite == conformance.Storage && o.choice.Containers && !o.csi.Disabled()
}

// read reads the results of the run before.
func (o *options) read(r release.Release) error {
	if !o.resume {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(o.artifacts, filepath.FromSlash(resultsFile)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the first sitting
	}
	if err != nil {
		return err
	}
	var before conformance.Report
	if err := json.Unmarshal(text, &before); err != nil {
		return report.UsageError("leave --resume out", "--resume: %s of %s: %v", resultsFile, o.artifacts, err)
	}
	for _, of := range []struct{ what, was, is string }{
		{"Kubernetes", before.Kubernetes, r.Version}, {"--cluster", before.Cluster, o.ground.Cluster}, {"--csi", before.CSI, o.csi.Driver},
	} {
		if of.was != of.is {
			return report.UsageError("--artifacts DIR that is new", "--resume: the results in %s are of %s %s, not of %s", o.artifacts, of.what, of.was, of.is)
		}
	}
	o.before = before
	return nil
}

// session is one run of the command.
type session struct {
	*stage.Show
	o       *options
	report  *conformance.Report
	suite   *result.Suite
	release release.Release
	running *stage.Running
}

func run(ctx context.Context, o *options) (err error) {
	signal.Ignore(syscall.SIGPIPE) // "conformance | head" ends the output, not the run
	s := &session{Show: stage.NewShow(o.Deps), o: o}
	defer s.Close()
	var has sandbox.Kubernetes
	if o.ground.Kubernetes() == kubernetes.Embedded {
		if has, err = o.kubernetes.Resolve(ctx, o.Streams); err != nil {
			return err
		}
		s.release = tested(has.Version)
	} else {
		s.release = tested(release.Kind())
	}
	if err := o.read(s.release); err != nil {
		return err
	}
	s.suite = &result.Suite{Name: "conformance", Began: time.Now(), Version: build.Version(), KubernetesVersion: s.release.Version, CCM: "builtin", Speed: 1}
	s.report = &conformance.Report{APIVersion: conformance.APIVersion, Kind: conformance.Kind, Kubernetes: s.release.Version, Cluster: o.ground.Cluster, CSI: o.csi.Driver, Suite: o.suite}
	if o.artifacts != "" {
		if err := s.Keep(o.artifacts, s.suite); err != nil {
			return err
		}
		if err := s.keep(nil); err != nil { // the results of the run before stay if nothing comes of this one
			return err
		}
	}
	err = s.tests(ctx, has)
	s.report.Add(o.before)
	s.report = stage.Masked(s.Show, s.report)
	s.suite.Took, s.suite.Scenarios, s.suite.Tables = time.Since(s.suite.Began), s.report.Results(), []result.Table{s.report.Table()}
	s.Finish(ctx, s.suite, &err)
	s.Close()
	if err == nil || len(s.report.Outcomes) > 0 { // else there is nothing to tell
		if werr := s.print(o.Streams.Out); err == nil {
			err = werr
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	}
	switch s.report.Verdict() {
	case result.Failed:
		return report.Exit(report.Degraded)
	case result.Errored, result.Interrupted:
		return report.Exit(report.Failure)
	}
	return nil
}

func (s *session) print(w io.Writer) error {
	if s.o.format == output.Plain {
		return s.report.Markdown(w)
	}
	return output.Document(w, s.o.format, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(s.report)
	})
}

// tested returns the release whose tests are for a cluster of a version: of the same minor version.
func tested(version string) release.Release {
	if r, ok := release.Find(version); ok {
		return r
	}
	minor, _ := release.Minor(version)
	for _, r := range release.All() {
		if r.Minor == minor {
			return r
		}
	}
	return release.Default()
}

// tests builds the program, boots a sandbox and runs the tests. The sandbox is stopped in any case.
func (s *session) tests(ctx context.Context, has sandbox.Kubernetes) error {
	program, err := programs.Finder{Progress: s.Busy}.Tests(ctx, s.release)
	s.Busy("")
	if err != nil {
		return kubernetes.Explain(err)
	}
	work, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	driver := ""
	if s.o.external() {
		if driver, err = conformance.WriteDriver(work, s.o.csi.Chosen()); err != nil {
			return err
		}
	}
	s.Busy("lists the tests of Kubernetes " + s.release.Version)
	specs, err := conformance.List(ctx, program, work, driver)
	s.Busy("")
	if err != nil {
		return err
	}
	plan, err := conformance.Choose(specs, s.o.choice)
	if err != nil {
		return report.UsageError("vsphere-sandbox conformance --suite conformance", "%v", err)
	}
	s.report.Skipped = plan.Skipped
	s.Println("conformance: suite %s of Kubernetes %s, %d tests to run, %d skipped", plan.Suite, s.release.Version, len(plan.Run), len(plan.Skipped))
	if err := s.boot(ctx, has); err != nil {
		return err
	}
	status, err := s.running.Client.Status(ctx)
	kubectl := ""
	if err == nil {
		kubectl, err = kubernetes.Program(ctx, s.o.Streams, status)
	}
	if err == nil {
		var log io.Writer
		if s.Dir != nil {
			log = s.Dir.Log()
		}
		var outcomes []conformance.Outcome
		outcomes, err = conformance.Run(ctx, plan, conformance.Options{
			Program: program, Kubeconfig: status.Kubeconfig, Kubectl: kubectl, Driver: driver, Dir: work, Log: log, Parallel: s.o.parallel, Known: s.o.before.Outcomes,
			Keep: s.keep, Running: s.begins, Ended: s.ended, Destroy: s.destroyer(),
		})
		s.report.Outcomes = outcomes
		err = errors.Join(err, s.keep(outcomes))
	}
	s.Busy("")
	s.Collect(ctx, s.running.Client, 0)
	return errors.Join(err, s.running.Stop(err != nil))
}

// destroyer returns what destroys the VM of a node for the suite that exercises a cloud provider; nil for others, whose tests
// must not take the sandbox for a cloud.
func (s *session) destroyer() func(context.Context, string) error {
	if s.o.suite != conformance.Nodes {
		return nil
	}
	return func(ctx context.Context, node string) error {
		_, err := s.running.Client.VM(ctx, api.VMRequest{Action: api.Destroy, VM: node})
		return err
	}
}

// begins shows which test runs, and for how long.
func (s *session) begins(text string) {
	s.Busy("")
	s.Busy(text)
}

// ended prints the outcome of a test.
func (s *session) ended(o conformance.Outcome, number, of int) {
	s.Busy("")
	line := fmt.Sprintf("[%d/%d] %s in %.1fs: %s", number, of, o.Verdict, o.Took.Seconds(), o.Name)
	if o.Message != "" {
		line += "\n      " + o.Message
	}
	s.Println("%s", line)
	s.Busy("the next test")
}

// keep writes the results so far, for --resume.
func (s *session) keep(outcomes []conformance.Outcome) error {
	if s.Dir == nil {
		return nil
	}
	now := *s.report
	now.Outcomes = outcomes
	now.Add(s.o.before)
	return s.Dir.JSON(resultsFile, now)
}

// boot boots the sandbox.
func (s *session) boot(ctx context.Context, has sandbox.Kubernetes) error {
	root, err := s.o.Sandboxes.Root()
	if err != nil {
		return err
	}
	asked, given := s.o.Name()
	if !given {
		asked = ""
	}
	name, err := stage.NameOf(asked, "conformance", os.Getpid())
	if err != nil {
		return report.UsageError("--name lab", "%v", err)
	}
	t, err := scenarios.Load(topologyName, nodes(s.o.ground.Cluster)...)
	if err != nil {
		return err
	}
	want := stage.Spec{Topology: t, Speed: 1, Cluster: s.o.ground.Of(false)}
	want.Cluster.Kubernetes = has
	if kind := want.Cluster.Kind; kind != nil {
		if kind.Archives, err = s.images(ctx); err != nil {
			return err
		}
	}
	flags := ccm.Flags{Replicas: 1}
	if want.CCM, err = flags.Resolve(ctx, s.o.Streams); err != nil {
		return err
	}
	if want.CSI, err = s.o.csi.Resolve(ctx, s.o.Streams); err != nil {
		return err
	}
	m := &stage.Booter{Root: root, Name: name, Command: "conformance", Limits: s.o.limits, Print: s.Println, Busy: s.Busy, Lost: s.Lost}
	if s.running, err = m.Boot(ctx, want); err != nil {
		return err
	}
	s.Println("sandbox %s: %s, ready in %.1fs", s.running.Name, t.Count(), s.running.Took.Seconds())
	s.Began(ctx, s.running.Client)
	s.Settle()
	return nil
}
