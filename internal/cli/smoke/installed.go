package smoke

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
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
	as       string
	manifest string // of the release
	baseline string // of the baseline
}

func (f *installation) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.as, "as", asProcess, "how the CCM is installed: process (the sandbox's arguments) or manifest (the arguments and the rights of its release)")
	flags.StringVar(&f.manifest, "ccm-manifest", "", "--as manifest: the `FILE` of the CCM's manifest (default: that of its release)")
	flags.StringVar(&f.baseline, "baseline-manifest", "", "--as manifest: the `FILE` of the baseline's manifest (default: that of its release)")
	_ = cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions([]string{asProcess, asManifest}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("ccm-manifest", complete.OneFile) // its only error is an unknown flag
	_ = cmd.RegisterFlagCompletionFunc("baseline-manifest", complete.OneFile)
}

// check refuses flags that do not go together.
func (f *installation) check(baseline string) error {
	switch {
	case f.as == asChart:
		return report.UsageError("helm template ccm CHART > ccm.yaml, then --as manifest --ccm-manifest ccm.yaml",
			"--as chart: there is no Helm in this program; it reads what helm template writes")
	case f.as != asProcess && f.as != asManifest:
		return report.UsageError("--as manifest", "--as %q: want process or manifest", f.as)
	case f.as == asProcess && f.manifest+f.baseline != "":
		return report.UsageError("--as manifest", "--ccm-manifest and --baseline-manifest need --as manifest")
	case f.baseline != "" && baseline == "":
		return report.UsageError("--baseline module:v1.36.0", "--baseline-manifest needs --baseline")
	}
	return nil
}

// read reads the manifest of a program: the file, or that of its release.
func (f *installation) read(ctx context.Context, b *bench, c sandbox.CCM, file string) (*installed.Installation, error) {
	from, text, err := f.text(ctx, b, c, file)
	if err != nil {
		return nil, err
	}
	i, err := installed.Read(from, text)
	if err != nil {
		return nil, &report.Error{Code: "ccm-manifest-invalid", Exit: report.Degraded, Message: "CCM " + c.Program.Source, Err: err, Try: "--ccm-manifest FILE"}
	}
	return i, nil
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
	o.Installed = func(c smoke.CCM) *installed.Installation { return list[c.Source] }
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
