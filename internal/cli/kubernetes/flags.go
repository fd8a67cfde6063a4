package kubernetes

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/programs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
)

// Flags choose the Kubernetes release. Bind them, call Check before anything is changed, and Resolve before the boot.
type Flags struct {
	// Source is the value of --kubernetes.
	Source string
}

// Bind adds --kubernetes to a command.
func (f *Flags) Bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Source, "kubernetes", programs.Builtin,
		"Kubernetes release of the embedded cluster: builtin ("+release.Default().Name()+"), "+olderNames()+" (built by \"kubernetes fetch\"), or dir:PATH")
	// Cannot fail: the flag was added above.
	_ = cmd.RegisterFlagCompletionFunc("kubernetes", cobra.FixedCompletions(append([]string{programs.Builtin}, release.Names()...), cobra.ShellCompDirectiveNoFileComp))
}

// Check refuses values that do not exist, and a release for a cluster that has one already. Embedded: it is an embedded cluster.
func (f *Flags) Check(embedded bool) error {
	s, err := programs.Parse(f.Source)
	if err != nil {
		return Explain(err)
	}
	if !embedded && s.String() != programs.Builtin {
		return report.UsageError("leave --kubernetes out", "--kubernetes %s is for --cluster embedded: any other cluster has its own release", f.Source)
	}
	return nil
}

// ToArgs are the arguments that say the same to another process; none for the default.
func (f *Flags) ToArgs() []string {
	if f.Source == "" || f.Source == programs.Builtin {
		return nil
	}
	return []string{"--kubernetes", f.Source}
}

// Resolve finds the program, or builds it, which takes minutes, and prints progress on streams.Err.
func (f *Flags) Resolve(ctx context.Context, streams *iostreams.Streams) (sandbox.Kubernetes, error) {
	s, err := programs.Parse(f.Source)
	if err != nil {
		return sandbox.Kubernetes{}, Explain(err)
	}
	p, err := finder(streams).Find(ctx, s)
	return sandbox.Kubernetes{Path: p.Path, Version: p.Kubernetes}, Explain(err)
}

func finder(streams *iostreams.Streams) programs.Finder {
	return programs.Finder{Progress: func(text string) { fmt.Fprintln(streams.Err, text) }}
}

// Explain gives an error of package programs an exit status.
func Explain(err error) error {
	return report.Coded(err, report.Prerequisite, map[string]int{
		programs.CodeUsage: report.Usage, programs.CodeUnknown: report.Usage, programs.CodeBuild: report.Failure,
	})
}
