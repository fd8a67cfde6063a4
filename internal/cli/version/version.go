// Package version is the command that shows what this binary is made of. It sends no requests, and reads no file except,
// for the components, the program csi-sidecars.
//
// Floor 5.
package version

import (
	"cmp"
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/programs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/sidecars"
)

// info is what there is to tell.
type info struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	Kubernetes string `json:"kubernetes"`
	Govmomi    string `json:"govmomi"`
	Etcd       string `json:"etcd"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`

	// KubernetesVersions are the releases that a sandbox can have.
	KubernetesVersions []kubernetesVersion `json:"kubernetesVersions,omitempty"`
	// Components are what is built in, of all programs. Sidecars is where the second one was found: a file, or "carried",
	// inside this one; SidecarsMissing says why it was not, and then its components are left out.
	Components      []build.Component `json:"components"`
	Sidecars        string            `json:"sidecars,omitempty"`
	SidecarsMissing string            `json:"sidecarsMissing,omitempty"`
}

// kubernetesVersion is a release, with where its program is: builtin, cache or missing.
type kubernetesVersion struct {
	Version string `json:"version"`
	Where   string `json:"where"`
}

type options struct {
	streams    *iostreams.Streams
	info       func() info
	kubernetes func() []kubernetesVersion
	second     func(context.Context) (components []build.Component, from string, err error)

	format string
}

// NewCmdVersion returns the command; runF, when not nil, runs in its place.
func NewCmdVersion(d *command.Deps, runF func(*options) error) *cobra.Command {
	o := &options{streams: d.Streams, info: read, kubernetes: listKubernetes, second: readSecond}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this program and its components",
		Long: `Print the versions of this program and its components. With -o json, each
component has its Go module; this includes the Kubernetes program and the CSI
sidecars, and the Kubernetes releases that a sandbox can have.`,
		Example: `  vsphere-sandbox version
  vsphere-sandbox version -o json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(o)
			}
			return run(cmd.Context(), o)
		},
	}
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	return cmd
}

func read() info {
	return info{
		Version: build.Version(), Commit: build.Commit(), Kubernetes: build.Kubernetes(), Govmomi: build.Govmomi(), Etcd: build.Etcd(),
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Components: append(build.KubernetesComponents(), build.Components()...),
	}
}

// readSecond reads the components of the program csi-sidecars.
func readSecond(ctx context.Context) (components []build.Component, from string, err error) {
	info, from, err := sidecars.Info(ctx)
	if err != nil {
		return nil, "", err
	}
	return build.SidecarComponents(info), from, nil
}

// listKubernetes returns the releases, or none when their place cannot be determined.
func listKubernetes() []kubernetesVersion {
	all, err := programs.Finder{}.List()
	if err != nil {
		return nil
	}
	var list []kubernetesVersion
	for _, l := range all {
		list = append(list, kubernetesVersion{l.Version, cmp.Or(l.Where, "missing")})
	}
	return list
}

// Info is what the command prints as JSON.
func Info(ctx context.Context) any {
	o := &options{info: read, kubernetes: listKubernetes, second: readSecond}
	return o.whole(ctx)
}

// whole is all that there is to tell.
func (o *options) whole(ctx context.Context) info {
	v := o.info()
	v.KubernetesVersions = o.kubernetes()
	second, from, err := o.second(ctx)
	if err != nil {
		v.SidecarsMissing = err.Error() // what is asked for is versions: this one is not to be had
	}
	v.Components, v.Sidecars = append(v.Components, second...), from
	return v
}

func run(ctx context.Context, o *options) error {
	v := o.info()
	if o.format != output.Text {
		v = o.whole(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return output.Object(o.streams.Out, o.format, "Version", v)
	}
	name := command.Program + " " + v.Version
	if v.Commit != "" {
		name += " (" + v.Commit[:min(len(v.Commit), 12)] + ")"
	}
	_, err := fmt.Fprintf(o.streams.Out, "%s\nKubernetes %s, govmomi %s, etcd %s\n%s %s\n",
		name, v.Kubernetes, v.Govmomi, v.Etcd, v.Go, v.Platform)
	return err
}
