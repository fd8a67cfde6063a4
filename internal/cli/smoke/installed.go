package smoke

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/chart"
	cliccm "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/manifests"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/installed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/smoke"
)

// The values of --as.
const (
	asProcess  = "process"
	asManifest = "manifest"
	asChart    = "chart"
)

// installation are the flags of how a release is installed.
type installation struct {
	as string
	// manifest and chart are of the release, the others of the baseline.
	manifest, baseline   string
	chart, baselineChart string
	values               []string
}

func (f *installation) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.as, "as", asProcess, "how the CCM is installed: process (the sandbox's arguments), manifest or chart (the arguments and the rights of its release)")
	flags.StringVar(&f.manifest, "ccm-manifest", "", "--as manifest: the `FILE` of the CCM's manifest (default: that of its release)")
	flags.StringVar(&f.baseline, "baseline-manifest", "", "--as manifest: the `FILE` of the baseline's manifest (default: that of its release)")
	flags.StringVar(&f.chart, "chart", "", "--as chart: the `PATH` of the CCM's Helm chart, a folder or an archive (default: that of its release)")
	flags.StringVar(&f.baselineChart, "baseline-chart", "", "--as chart: the `PATH` of the baseline's Helm chart (default: that of its release)")
	flags.StringArrayVar(&f.values, "values", nil, "--as chart: a `FILE` of values for the charts; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions([]string{asProcess, asManifest, asChart}, cobra.ShellCompDirectiveNoFileComp))
	for _, name := range []string{"ccm-manifest", "baseline-manifest", "chart", "baseline-chart", "values"} {
		_ = cmd.RegisterFlagCompletionFunc(name, complete.OneFile) // its only error is an unknown flag
	}
}

// check refuses flags that do not go together.
func (f *installation) check(baseline string) error {
	switch {
	case f.as != asProcess && f.as != asManifest && f.as != asChart:
		return report.UsageError("--as manifest", "--as %q: want process, manifest or chart", f.as)
	case f.as != asManifest && f.manifest+f.baseline != "":
		return report.UsageError("--as manifest", "--ccm-manifest and --baseline-manifest need --as manifest")
	case f.as != asChart && (f.chart+f.baselineChart != "" || len(f.values) > 0):
		return report.UsageError("--as chart", "--chart, --baseline-chart and --values need --as chart")
	case f.baseline+f.baselineChart != "" && baseline == "":
		return report.UsageError("--baseline module:v1.36.0", "--baseline-manifest and --baseline-chart need --baseline")
	}
	return nil
}

// file returns the file that was given for the release, or for the baseline.
func (f *installation) file(baseline bool) string {
	switch {
	case f.as == asChart && baseline:
		return f.baselineChart
	case f.as == asChart:
		return f.chart
	case baseline:
		return f.baseline
	}
	return f.manifest
}

// read reads how a program is installed: from the file that was given, or from that of its release.
func (f *installation) read(ctx context.Context, b *bench, c sandbox.CCM, baseline bool) (*installed.Installation, error) {
	read, flag := f.text, "--ccm-manifest FILE"
	if f.as == asChart {
		read, flag = f.rendered, "--chart DIR, --values FILE"
	}
	from, text, err := read(ctx, b, c, f.file(baseline))
	if err != nil {
		return nil, err
	}
	i, err := installed.Read(from, text)
	if err != nil {
		return nil, invalid(f.as, c, err, flag)
	}
	return i, nil
}

func invalid(as string, c sandbox.CCM, err error, try string) error {
	return &report.Error{Code: "ccm-" + as + "-invalid", Exit: report.Degraded, Message: "CCM " + c.Program.Source, Err: err, Try: try}
}

// rendered renders the chart of a program, for the Kubernetes release of the run, as a release in kube-system.
func (f *installation) rendered(ctx context.Context, b *bench, c sandbox.CCM, file string) (from string, text []byte, err error) {
	p := c.Program
	var of *chart.Chart
	switch {
	case file != "":
		of, err = chart.Load(file)
	case !p.Own && releaseVersion.MatchString(p.Version):
		b.Busy("reads the chart of " + p.Version)
		defer b.Busy("")
		archive, err := ccm.Chart(ctx, p.Version, program.Options{})
		if err != nil {
			return "", nil, cliccm.Explain(err)
		}
		of, err = chart.Read(bytes.NewReader(archive))
		if err != nil {
			return "", nil, invalid(asChart, c, err, "--chart DIR")
		}
	case p.Own:
		return "", nil, report.UsageError("--chart charts/vsphere-cloud-controller-manager", "--as chart: the chart of %s is in its sources", p.Source)
	default:
		return "", nil, report.UsageError("--chart DIR", "--as chart: CCM %s is of no release whose chart could be read", p.Source)
	}
	if err != nil {
		return "", nil, invalid(asChart, c, err, "--chart DIR")
	}
	o := chart.Options{Release: program.CCM.File(), Namespace: "kube-system", Values: f.values}
	if len(b.kubernetes) > 0 {
		o.Kubernetes = b.kubernetes[0].Version
	}
	if text, err = of.Render(o); err != nil {
		return "", nil, invalid(asChart, c, err, "--values FILE")
	}
	return "chart " + of.String(), text, nil
}

var releaseVersion = regexp.MustCompile(`^v1\.[0-9]+\.[0-9]+`)

func (f *installation) text(ctx context.Context, b *bench, c sandbox.CCM, file string) (from string, text []byte, err error) {
	p := c.Program
	switch {
	case file != "":
		text, err = os.ReadFile(file)
		return file, text, err
	case p.Path == "": // the built-in one
		var all strings.Builder
		for _, name := range []string{"rbac.yaml", "configmap.yaml", "secret.yaml", "daemonset.yaml"} {
			one, err := manifests.Files.ReadFile("ccm/" + name)
			if err != nil {
				return "", nil, err
			}
			all.WriteString("---\n" + string(one) + "\n")
		}
		return "manifests/ccm", []byte(all.String()), nil
	case !p.Own && releaseVersion.MatchString(p.Version):
		b.Busy("reads the manifest of " + p.Version)
		defer b.Busy("")
		text, err = ccm.Manifest(ctx, p.Version, program.Options{})
		return "the release " + p.Version, text, cliccm.Explain(err)
	}
	return "", nil, report.UsageError("--ccm-manifest FILE", "--as manifest: CCM %s is of no release whose manifest could be read", p.Source)
}

// install has sandboxes run the programs as these manifests install them, and returns what the checks need to know of them.
func (b *bench) install(list map[string]*installed.Installation, o *smoke.Options) {
	for source, i := range list {
		c := b.programs[source]
		c.Installed, c.Other = i, list
		b.programs[source] = c
	}
	o.Installed = func(c smoke.Program) *installed.Installation { return list[c.Source] }
	o.Requests = auditOf
	o.Unhealthy = func(err error) bool { return unhealthy.MatchString(err.Error()) }
	b.audit = true
}

// unhealthy finds the cloud controller manager in the error of a boot: "ccm: exit status 1", "ccm-2: not healthy 60s after its start".
var unhealthy = regexp.MustCompile(`(^|[^a-z-])ccm(-[0-9])?: `)

// auditOf reads what an account asked the API server of a running sandbox for.
func auditOf(ctx context.Context, r *scenario.Running, i *installed.Installation) ([]installed.Request, error) {
	status, err := r.Status(ctx)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(status.Dir, "logs", "audit.log"))
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	defer f.Close()
	return installed.ReadAudit(f, func(user string) bool { return user == i.User() })
}
