package smoke

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	cliccm "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/smoke"
)

// NewCmdRelease returns the group of commands about a whole release.
func NewCmdRelease(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:     "release COMMAND",
		Short:   "Check a release of a CCM against the releases before it",
		Example: "  vsphere-sandbox release check v1.36.0",
	}, newCmdCheck(d, nil))
}

// checkOptions are the flags of release check.
type checkOptions struct {
	settings
	release  string
	ccm      string
	install  installation
	baseline []string
	format   string

	// versions lists released versions. find looks for what sources name; smoke runs one comparison, and writes its table to out.
	versions func(context.Context) []string
	find     func(ctx context.Context, sources ...string) error
	smoke    func(ctx context.Context, o *options) error
}

func newCmdCheck(d *command.Deps, runF func(context.Context, *checkOptions) error) *cobra.Command {
	o := &checkOptions{settings: newSettings(d, smoke.Checks), smoke: run, find: cliccm.Find, format: output.Plain}
	o.versions = func(ctx context.Context) []string { return program.CCM.Versions(ctx, program.Options{}) }
	runF = command.Or(runF, check)
	cmd := &cobra.Command{
		Use:   "check VERSION",
		Short: "Test a CCM release against the last two minor versions, for its release issue",
		Long: `Test a release of upstream's cloud controller manager as "smoke" does, once with
each of the last releases of the two minor versions before it as the baseline,
on the Kubernetes minor version of that baseline. Each release runs as its own
manifest installs it.

The results go into a folder: README.md is the text for the release issue, and
beside it is a folder for each comparison, in the layout of TestGrid.

Exit status: the one of "smoke" that is worst.`,
		Example: `  vsphere-sandbox release check v1.36.0
  vsphere-sandbox release check v1.37.0 --ccm ./vsphere-cloud-controller-manager --ccm-manifest releases/v1.37/ccm.yaml
  vsphere-sandbox release check v1.36.0 --baseline v1.35.1 --artifacts v1.36.0-rc`,
		Args:              command.ExactlyOne("VERSION"),
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.release = args[0]
			if err := o.complete(); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.ccm, "ccm", "", "the CCM to test: "+program.Syntax+" (default: module:VERSION)")
	f.StringSliceVar(&o.baseline, "baseline", nil, "the `VERSIONS` to compare with (default: the last ones of the two minor versions before it)")
	_ = cmd.RegisterFlagCompletionFunc("ccm", complete.None) // its only error is an unknown flag
	_ = cmd.RegisterFlagCompletionFunc("baseline", complete.None)
	o.install.bind(cmd)
	o.install.as = asManifest
	f.Lookup("as").DefValue = asManifest
	for _, name := range []string{"baseline-manifest", "baseline-chart"} {
		_ = f.MarkHidden(name) // there are two baselines, each with its own
	}
	o.bind(cmd)
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

// complete checks what can be checked before anything is touched.
func (o *checkOptions) complete() error {
	const try = "vsphere-sandbox release check v1.36.0"
	for _, v := range append([]string{o.release}, o.baseline...) {
		if _, err := version.ParseSemantic(v); err != nil || program.CCM.CheckVersion(v) != nil {
			return report.UsageError(try, "release check: %q is no version: want one such as v1.36.0", v)
		}
	}
	if o.ccm == "" {
		o.ccm = "module:" + o.release
	}
	if o.artifacts == "" {
		o.artifacts = "release-" + o.release
	}
	if err := o.install.check(""); err != nil {
		return err
	}
	return o.settings.complete(o.ccm)
}

// before returns the last releases of the two minor versions before a version, the newest first.
func before(candidate string, all []string) []string {
	is, err := version.ParseSemantic(candidate)
	if err != nil {
		return nil
	}
	var chosen []string
	for distance := uint(1); distance <= min(is.Minor(), 2); distance++ {
		var best *version.Version
		for _, text := range all {
			v, err := version.ParseSemantic(text)
			if err != nil || v.PreRelease() != "" || v.Major() != is.Major() || v.Minor() != is.Minor()-distance {
				continue
			}
			if best == nil || best.LessThan(v) {
				best = v
			}
		}
		if best != nil {
			chosen = append(chosen, "v"+best.String())
		}
	}
	return chosen
}

// headings finds the headings of a table, which are one level deeper in the issue.
var headings = regexp.MustCompile(`(?m)^(#+ )`)

// check runs the comparisons and writes the folder.
func check(ctx context.Context, o *checkOptions) error {
	baselines := o.baseline
	if len(baselines) == 0 {
		baselines = before(o.release, o.versions(ctx))
	}
	if len(baselines) == 0 {
		return report.UsageError("--baseline v1.35.1", "release check: no release of the two minor versions before %s is known", o.release)
	}
	if err := o.folder(); err != nil {
		return err
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "## %s: checked with vsphere-sandbox %s, %s\n\n| baseline | Kubernetes | result |\n|---|---|---|\n", o.release, build.Version(), time.Now().UTC().Format(time.DateOnly))
	var tables bytes.Buffer
	doc := checked{APIVersion: "sandbox.vsphere/v1alpha1", Kind: "ReleaseCheck", Release: o.release}
	var worst error
	for _, baseline := range baselines {
		one, on := o.against(baseline)
		out := &bytes.Buffer{}
		streams := *o.Streams
		streams.Out = out
		deps := *o.Deps
		deps.Streams, one.Deps = &streams, &deps
		fmt.Fprintf(o.Streams.Err, "release check: %s against %s on Kubernetes %s\n", o.release, baseline, on)
		err := o.find(ctx, one.ccm, one.baseline) // before Kubernetes is built for it
		if err == nil {
			err = one.complete(one.ccm, one.baseline)
		}
		if err == nil {
			err = o.smoke(ctx, one)
		}
		fmt.Fprintf(&text, "| %s | %s | %s |\n", baseline, on, inWords(err))
		doc.Comparisons = append(doc.Comparisons, comparison{baseline, on, strings.Trim(inWords(err), "*"), one.artifacts})
		fmt.Fprintf(&tables, "\n%s", headings.ReplaceAllString(out.String(), "#$1"))
		worst = worse(worst, err)
		if ctx.Err() != nil {
			break
		}
	}
	text.Write(tables.Bytes())
	if err := os.WriteFile(filepath.Join(o.artifacts, "README.md"), text.Bytes(), 0o600); err != nil {
		return errors.Join(worst, err)
	}
	var err error
	if o.format == output.Plain {
		_, err = io.Copy(o.Streams.Out, &text)
	} else {
		err = output.Document(o.Streams.Out, o.format, func(w io.Writer) error { return json.NewEncoder(w).Encode(doc) })
	}
	if err != nil {
		return errors.Join(worst, err)
	}
	fmt.Fprintf(o.Streams.Err, "for the release issue: %s\n", filepath.Join(o.artifacts, "README.md"))
	return worst
}

// checked is the result as a document.
type checked struct {
	APIVersion  string       `json:"apiVersion"`
	Kind        string       `json:"kind"`
	Release     string       `json:"release"`
	Comparisons []comparison `json:"comparisons"`
}

// comparison is one run of smoke.
type comparison struct {
	Baseline   string `json:"baseline"`
	Kubernetes string `json:"kubernetes"`
	Result     string `json:"result"`
	Artifacts  string `json:"artifacts"`
}

// folder makes the folder. One that has anything else than an earlier check is refused.
func (o *checkOptions) folder() error {
	if err := os.MkdirAll(o.artifacts, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(o.artifacts)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "README.md" && !strings.HasPrefix(e.Name(), againstPrefix) {
			return report.UsageError("--artifacts DIR that is new, or empty", "directory %s is not empty (%s)", o.artifacts, e.Name())
		}
	}
	return nil
}

var minorVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+`)

// againstPrefix begins the name of a comparison's folder.
const againstPrefix = "against-"

// against returns the options of one comparison, and the Kubernetes release that it runs on.
func (o *checkOptions) against(baseline string) (one *options, on string) {
	one = &options{settings: o.settings, ccm: o.ccm, baseline: "module:" + baseline, install: o.install, format: output.Plain}
	one.artifacts = filepath.Join(o.artifacts, againstPrefix+baseline)
	on = o.kubernetes.Source
	if r, ok := release.Find(minorVersion.FindString(baseline)); ok && on == "" {
		one.kubernetes.Source, on = r.Name(), r.Version
	}
	one.releases = nil
	if on == "" {
		on = release.Default().Version
	}
	return one, on
}

// inWords is the result of a comparison.
func inWords(err error) string {
	status, isStatus := errors.AsType[report.Exit](err)
	switch {
	case err == nil:
		return "passed"
	case isStatus && status == report.Degraded:
		return "**failed**"
	case isStatus:
		return "could not be run to its end"
	case errors.Is(err, context.Canceled):
		return "interrupted"
	}
	return "could not be run: " + strings.ReplaceAll(err.Error(), "\n", " ")
}

// worse returns the error that counts more: an interruption, then what could not be run, then what failed.
func worse(a, b error) error {
	weight := func(err error) int {
		status, isStatus := errors.AsType[report.Exit](err)
		switch {
		case err == nil:
			return 0
		case isStatus && status == report.Degraded:
			return 1
		case errors.Is(err, context.Canceled):
			return 3
		}
		return 2
	}
	if weight(b) > weight(a) {
		return b
	}
	return a
}
