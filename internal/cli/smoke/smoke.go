package smoke

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	cliccm "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubernetes"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/stage"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/installed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/junit"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/smoke"
)

// formatJUnit is the format of results beside the usual ones.
const formatJUnit = "junit"

type options struct {
	settings

	ccm      string
	baseline string
	format   string
	install  installation
}

// NewCmdSmoke returns the command; runF, when not nil, runs in its place.
func NewCmdSmoke(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{settings: newSettings(d, smoke.Checks), format: output.Plain}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "smoke [--ccm SOURCE | --csi SOURCE] [--baseline SOURCE]",
		Short: "Test a release of a CCM or CSI driver before it is published",
		Long: `Test a release of a cloud controller manager before it is published, or with
--csi and without --ccm a release of a CSI driver:

  version       --version prints the version of its source
  installation  a CCM with --as manifest, --as chart: what it installs finds a
                node, starts with its arguments and rights, answers its probes
  upgrade       it takes over from the baseline, and no node changes;
                a CSI driver (driver-upgrade): no volume moves
  the suite     the scenarios of --suite; for a CSI driver, those with volumes
  leader-lost   of two replicas of a CCM the leader is killed, the other takes
                over; of a CSI driver (driver-leader-lost), a claim gets its
                volume
  sanity        the tests of csi-test, against a CSI driver
  clean-exit    SIGTERM ends it with status 0, and its sessions are closed
  rights        a CCM with --as manifest, --as chart: the API server refuses it
                nothing; rights that it never used are listed
  calls         the number of vCenter calls, compared with the baseline

Progress goes to standard error, and a Markdown table for a release issue to
standard output. With a baseline, the same checks run with it first, and each
is same, fixed, regressed or new. Without one, failures that a scenario lists
as known do not count. --strict counts every failure.

Exit status:
  0    all checks passed, or failed as the baseline or in a known way
  1    something could not be run
  2    wrong flag
  3    a check regressed, or one that must pass failed; without a baseline, a
       check failed that is not known to fail
  4    this machine lacks a prerequisite
  130  interrupted`,
		Example: `  vsphere-sandbox smoke
  vsphere-sandbox smoke --ccm ./vsphere-cloud-controller-manager
  vsphere-sandbox smoke --ccm module:v1.36.0 --baseline module:v1.34.0 --artifacts results
  vsphere-sandbox smoke --ccm module:v1.36.0 --as manifest
  vsphere-sandbox smoke --ccm ./vsphere-cloud-controller-manager --as manifest --ccm-manifest releases/v1.37/ccm.yaml
  vsphere-sandbox smoke --ccm ./vsphere-cloud-controller-manager --as chart --chart charts/vsphere-cpi --values values.yaml
  vsphere-sandbox smoke --ccm ./vsphere-cloud-controller-manager --only clean-exit,lifecycle/power-off
  vsphere-sandbox smoke --csi ./vsphere-csi --baseline module:v3.7.0`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("csi") && !cmd.Flags().Changed("ccm") {
				if err := o.judgeDriver(cmd.Flags().Changed("suite")); err != nil {
					return err
				}
			}
			if err := o.complete(o.sources()...); err != nil {
				return err
			}
			if err := o.install.check(o.baseline); err != nil {
				return err
			}
			if o.ground.Podded() && o.install.as != asProcess {
				return report.UsageError("leave --as out", "--as %s: with --cluster %s a CCM is installed by its manifest in any case", o.install.as, o.ground.Cluster)
			}
			return runF(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.ccm, "ccm", "builtin", "the CCM to test: "+program.Syntax)
	f.StringVar(&o.baseline, "baseline", "", "the CCM or CSI driver to upgrade from, and to compare with")
	_ = cmd.RegisterFlagCompletionFunc("ccm", complete.Flag(cliccm.Sources)) // its only error is an unknown flag
	_ = cmd.RegisterFlagCompletionFunc("baseline", complete.Flag(cliccm.Sources))
	o.install.bind(cmd)
	o.bind(cmd)
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML, formatJUnit)
	return cmd
}

func run(ctx context.Context, o *options) (err error) {
	sources := o.sources()
	b, err := o.newBench(ctx, "smoke", sources[0])
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.find(ctx, sources...); err != nil {
		return err
	}
	given, err := b.resolve(ctx, sources[0])
	if err != nil {
		return err
	}
	installations := map[string]*installed.Installation{}
	judged := smoke.Options{
		Program: given, Suite: o.scenarios, Only: o.only, Boot: b.boot, Version: b.version, Strict: o.strict, Speed: o.speed, Pods: o.ground.Podded(),
		Observe: b.Update, Progress: b.Println, Busy: b.Busy, Seed: o.seed, Patience: o.patience,
	}
	if o.baseline != "" {
		baseline, err := b.resolve(ctx, o.baseline)
		if err != nil {
			return err
		}
		judged.Baseline = &baseline
		if o.install.as != asProcess {
			if installations[baseline.Source], err = o.install.read(ctx, b, b.programs[baseline.Source], true); err != nil {
				return err
			}
		}
	}
	if o.install.as != asProcess {
		if installations[given.Source], err = o.install.read(ctx, b, b.programs[given.Source], false); err != nil {
			return err
		}
		b.install(installations, &judged)
	}
	if o.driver {
		if err := b.prepareSanity(ctx, &judged); err != nil {
			return err
		}
	}
	report, err := smoke.Run(ctx, judged)
	if err != nil {
		return err
	}
	report = stage.Masked(b.Show, report)
	report.Suite.Version, report.Suite.KubernetesVersion = build.Version(), b.versions()
	err = b.ended()
	if b.Dir != nil {
		for name, write := range writers(report) {
			if werr := b.write(name, write); err == nil {
				err = werr
			}
		}
	}
	b.Finish(ctx, &report.Suite, &err)
	b.Close()
	return verdict(ctx, report.Suite.Verdict(), err, o.print(report))
}

// print writes a report to standard output.
func (o *options) print(r *smoke.Report) error {
	switch o.format {
	case output.JSON, output.YAML:
		return output.Document(o.Streams.Out, o.format, func(w io.Writer) error { return smoke.JSON(w, r) })
	case formatJUnit:
		return junit.Write(o.Streams.Out, &r.Suite)
	}
	return smoke.Table(o.Streams.Out, r)
}

// sources are what is judged, and the baseline if there is one.
func (o *options) sources() []string {
	list := []string{o.ccm}
	if o.driver {
		list[0] = cmp.Or(o.csi.Driver, csi.Builtin)
	}
	if o.baseline != "" {
		list = append(list, o.baseline)
	}
	return list
}

// named is what the logic knows of a program.
func named(p program.Program) smoke.Program {
	said := p.Version
	if p.Own && said == "" {
		said = build.Version()
	}
	return smoke.Program{Source: p.Source, Version: said, Own: p.Own}
}

type matrixOptions struct {
	settings

	ccms   []string
	format string
}

// NewCmdMatrix returns the command; runF, when not nil, runs in its place.
func NewCmdMatrix(d *command.Deps, runF func(context.Context, *matrixOptions) error) *cobra.Command {
	o := &matrixOptions{settings: newSettings(d, smoke.Names), format: output.Plain}
	if runF == nil {
		runF = matrix
	}
	cmd := &cobra.Command{
		Use:   "matrix --ccm SOURCE,SOURCE...",
		Short: "Run the same scenarios with several CCMs and compare the results",
		Long: `Run the same scenarios with several cloud controller managers, one after the
other, and print a table of the results. Below it: how each differs from the
first one, in events and in time. With several releases in --kubernetes, each
CCM runs on each of them.

Exit status:
  0    all passed, or failed in a known way
  1    something could not be run
  2    wrong flag
  3    a scenario failed
  4    this machine lacks a prerequisite
  130  interrupted`,
		Example: `  vsphere-sandbox matrix --ccm builtin,module:v1.36.0,module:v1.34.0
  vsphere-sandbox matrix --ccm ./old,./new --suite full -o json
  vsphere-sandbox matrix --ccm builtin,./mine --only lifecycle/power-off
  vsphere-sandbox matrix --ccm builtin --kubernetes v1.35,v1.36,v1.37`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	cmd.Flags().StringSliceVar(&o.ccms, "ccm", nil, "the CCMs to run; each is compared with the first")
	_ = cmd.RegisterFlagCompletionFunc("ccm", complete.None) // its only error is an unknown flag
	o.bind(cmd)
	cmd.Flags().Lookup("kubernetes").Usage += "; several with commas"
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

func (o *matrixOptions) complete() error {
	const try = "vsphere-sandbox matrix --ccm builtin,module:v1.36.0"
	if len(o.ccms) == 0 {
		return report.UsageError(try, "matrix needs --ccm SOURCE,SOURCE")
	}
	for i, text := range o.ccms {
		if text == "" {
			return report.UsageError(try, "--ccm: empty source between two commas")
		}
		if slices.Contains(o.ccms[:i], text) {
			return report.UsageError(try, "--ccm: %s is given twice", text)
		}
	}
	o.releases = o.kubernetes.Each()
	if len(o.releases) > 1 && slices.ContainsFunc(o.releases, func(f kubernetes.Flags) bool { return f.Source == "" }) {
		return report.UsageError(try+" --kubernetes v1.36,v1.37", "--kubernetes: empty release between two commas")
	}
	if err := o.settings.complete(o.ccms...); err != nil {
		return err
	}
	o.scenarios = smoke.Pick(o.only, o.scenarios)
	return nil
}

func matrix(ctx context.Context, o *matrixOptions) error {
	b, err := o.newBench(ctx, "matrix", strings.Join(o.ccms, ","))
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.find(ctx, o.ccms...); err != nil {
		return err
	}
	var list []smoke.Program
	for _, text := range o.ccms {
		one, err := b.resolve(ctx, text)
		if err != nil {
			return err
		}
		if len(b.kubernetes) == 1 {
			list = append(list, one)
			continue
		}
		for _, k := range b.kubernetes {
			one.Kubernetes = k.Version
			list = append(list, one)
		}
	}
	c := smoke.Compare(ctx, list, smoke.Options{
		Suite: o.scenarios, Boot: b.boot, Speed: o.speed, Observe: b.Update, Progress: b.Println, Busy: b.Busy, Seed: o.seed, Patience: o.patience, Strict: o.strict,
	})
	c.Version, c.KubernetesVersion = build.Version(), b.versions()
	c = stage.Masked(b.Show, c)
	err = b.ended()
	all := together(c)
	if b.Dir != nil {
		for name, write := range map[string]func(io.Writer) error{
			"artifacts/matrix.md":   func(w io.Writer) error { return smoke.Matrix(w, c) },
			"artifacts/matrix.json": func(w io.Writer) error { return smoke.MatrixJSON(w, c) },
		} {
			if werr := b.write(name, write); err == nil {
				err = werr
			}
		}
	}
	b.Finish(ctx, all, &err)
	b.Close()
	if o.format == output.Plain {
		return verdict(ctx, c.Verdict(), err, smoke.Matrix(o.Streams.Out, c))
	}
	return verdict(ctx, c.Verdict(), err, output.Document(o.Streams.Out, o.format, func(w io.Writer) error { return smoke.MatrixJSON(w, c) }))
}

// together is one suite of all columns, for the artifacts: the theme of each scenario says whose it is.
func together(c *smoke.Comparison) *result.Suite {
	all := &result.Suite{
		Name: "matrix", Began: c.Began, Took: c.Took, Seed: c.Seed, Speed: c.Speed, Version: c.Version, KubernetesVersion: c.KubernetesVersion,
	}
	var names []string
	for i := range c.Columns {
		column := &c.Columns[i]
		names = append(names, column.CCM.String())
		all.Boots = append(all.Boots, column.Suite.Boots...)
		all.Baseline = cmp.Or(all.Baseline, column.Suite.Baseline)
		for _, s := range column.Suite.Scenarios {
			s.Theme = strings.Trim(folder(column.CCM)+"/"+s.Theme, "/")
			all.Scenarios = append(all.Scenarios, s)
		}
	}
	all.CCM = strings.Join(names, ",")
	all.Tables = []result.Table{c.Table()}
	return all
}

// folder names the column in themes of scenarios.
func folder(c smoke.Program) string {
	if c.Kubernetes == "" {
		return c.Source
	}
	return c.Source + "-" + c.Kubernetes
}

// checkOnly refuses patterns that are for none of the checks: what is misspelled is not left out silently.
func (s *settings) checkOnly() error {
	all := s.checks(s.scenarios)
	for _, pattern := range s.only {
		if pattern == "" {
			return report.UsageError("--only 'lifecycle/*'", "--only %q: want names of checks", pattern)
		}
		matches := func(name string) bool { return smoke.Chosen([]string{pattern}, name) }
		if slices.ContainsFunc(all, matches) {
			continue
		}
		if s.suite != fullSuite {
			if full, err := s.load(fullSuite); err == nil && slices.ContainsFunc(s.checks(full), matches) {
				return report.UsageError("--suite "+fullSuite, "--only %q: is in the suite %s, not in %s", pattern, fullSuite, s.suite)
			}
		}
		try := "one of " + strings.Join(all, ", ")
		if near := nearest.Of(pattern, all); near != "" {
			try = "--only " + near
		}
		return report.UsageError(try, "--only %q: there is no such check", pattern)
	}
	return nil
}

// completeOnly completes the last name of --only.
func (s *settings) completeOnly(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	list, err := s.load(s.suite)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, name := range s.checks(list) {
		if word := before + name; strings.HasPrefix(word, typed) {
			words = append(words, word)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
