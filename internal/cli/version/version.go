// Package version is the command that tells what this binary is made of. It asks no sandbox and reads no file.
package version

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
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
}

type options struct {
	streams *iostreams.Streams
	info    func() info

	format string
}

// NewCmdVersion returns the command; runF, when not nil, runs in its place.
func NewCmdVersion(d *command.Deps, runF func(*options) error) *cobra.Command {
	o := &options{streams: d.Streams, info: read}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Tell the versions of this program and of what is built into it",
		Example: `  vsphere-sandbox version
  vsphere-sandbox version -o json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(*cobra.Command, []string) error {
			if runF != nil {
				return runF(o)
			}
			return run(o)
		},
	}
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	return cmd
}

func read() info {
	return info{
		Version: build.Version(), Commit: build.Commit(), Kubernetes: build.Kubernetes(), Govmomi: build.Govmomi(), Etcd: build.Etcd(),
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

func run(o *options) error {
	v := o.info()
	if o.format != output.Text {
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
