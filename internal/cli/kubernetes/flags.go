package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/programs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Flags choose the Kubernetes release. Bind them, call Check before anything is changed, and Resolve before the boot.
type Flags struct {
	// Source is the value of --kubernetes; empty for the release that a topology names, or else the built-in one.
	Source string

	knobs knobs
}

// Bind adds --kubernetes to a command.
func (f *Flags) Bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Source, "kubernetes", "",
		"Kubernetes release of the embedded cluster: builtin (the default: "+release.Default().Name()+"), "+olderNames()+" (built by \"kubernetes fetch\"), or dir:PATH")
	// Cannot fail: the flag was added above.
	_ = cmd.RegisterFlagCompletionFunc("kubernetes", cobra.FixedCompletions(append([]string{programs.Builtin}, release.Names()...), cobra.ShellCompDirectiveNoFileComp))
	f.knobs.bind(cmd)
}

// Each returns the flags of each release, when --kubernetes names several with commas between them.
func (f *Flags) Each() []Flags {
	var all []Flags
	for source := range strings.SplitSeq(f.Source, ",") {
		one := *f
		one.Source = source
		all = append(all, one)
	}
	return all
}

// For returns the flags for a cluster as a topology wants it: its release, unless a flag names one, and its settings, before
// those of flags.
func (f *Flags) For(t topology.Kubernetes) Flags {
	all := *f
	all.Source = cmp.Or(f.Source, t.Version)
	all.knobs = all.knobs.after(t)
	return all
}

// ResolveFor is [Flags.Resolve] for the nodes of a topology, and for a cluster as it is wanted; known is the result without that,
// or nil.
func (f *Flags) ResolveFor(
	ctx context.Context, t *topology.Topology, k topology.Kubernetes, known *sandbox.Kubernetes, streams *iostreams.Streams,
) (has sandbox.Kubernetes, err error) {
	if k.IsZero() && known != nil {
		has = *known
	} else {
		all := f.For(k)
		if has, err = all.Resolve(ctx, streams); err != nil {
			return has, err
		}
	}
	if t == nil {
		return has, nil
	}
	has.Kubelets = map[string]string{}
	kubelets := t.Kubelets()
	minor, _ := release.Minor(has.Version)
	for _, name := range slices.Sorted(maps.Keys(kubelets)) {
		one := Flags{Source: name}
		p, err := one.Resolve(ctx, streams)
		if err != nil {
			return has, err
		}
		if kubelet, _ := release.Minor(p.Version); kubelet > minor {
			return has, report.UsageError("--kubernetes "+name, "VM %s: its kubelet, %s, is newer than the API server, %s", kubelets[name], p.Version, has.Version)
		}
		has.Kubelets[name] = p.Path
	}
	return has, nil
}

// Of is what kind of cluster the flags are for.
type Of int

// The clusters.
const (
	// Embedded has a release of the sandbox's, and takes all knobs.
	Embedded Of = iota
	// Kind has the release of its node image. Files cannot be given to its components.
	Kind
	// Other is a cluster that the sandbox did not create.
	Other
)

// Knobs returns the user's changes of the components, with those that a topology has.
func (f *Flags) Knobs(t topology.Kubernetes) contract.Knobs { return f.knobs.after(t).Knobs }

// Check refuses values that do not exist, and those that a cluster does not take.
func (f *Flags) Check(of Of) error {
	s, err := programs.Parse(f.Source)
	if err != nil {
		return Explain(err)
	}
	if of != Embedded && s.String() != programs.Builtin {
		return report.UsageError("leave --kubernetes out", "--kubernetes %s is for --cluster embedded: any other cluster has its own release", f.Source)
	}
	if flag := f.knobs.first(); of == Other && flag != "" {
		return report.UsageError("leave --"+flag+" out", "--%s is for --cluster embedded and kind: the components of any other cluster are not the sandbox's", flag)
	}
	if flag := f.knobs.firstFile(); of == Kind && flag != "" {
		return report.UsageError("--kind-config FILE, with extraMounts and kubeadmConfigPatches", "--%s is for --cluster embedded: the nodes of kind do not have the file", flag)
	}
	return f.knobs.complete()
}

// ToArgs are the arguments that say the same to another process; none for the default.
func (f *Flags) ToArgs() []string {
	args := f.knobs.toArgs()
	if f.Source != "" && f.Source != programs.Builtin {
		args = append([]string{"--kubernetes", f.Source}, args...)
	}
	return args
}

// Resolve finds the program, or builds it, which takes minutes, and prints progress on streams.Err.
func (f *Flags) Resolve(ctx context.Context, streams *iostreams.Streams) (sandbox.Kubernetes, error) {
	s, err := programs.Parse(f.Source)
	if err != nil {
		return sandbox.Kubernetes{}, Explain(err)
	}
	p, err := finder(streams).Find(ctx, s)
	if err == nil && !f.knobs.IsZero() {
		err = p.Check(ctx, f.knobs.Knobs)
	}
	return sandbox.Kubernetes{Path: p.Path, Version: p.Kubernetes, Knobs: f.knobs.Knobs}, Explain(err)
}

func finder(streams *iostreams.Streams) programs.Finder {
	return programs.Finder{Progress: func(text string) { fmt.Fprintln(streams.Err, text) }}
}

// Explain gives an error of package programs an exit status.
func Explain(err error) error {
	return report.Coded(err, report.Prerequisite, map[string]int{
		programs.CodeUsage: report.Usage, programs.CodeRefused: report.Usage, programs.CodeUnknown: report.Usage, programs.CodeBuild: report.Failure,
	})
}
