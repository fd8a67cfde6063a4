// Package images is the commands about the container images that a sandbox needs where its cluster is not the built-in one:
// which those are and where they are, and how they get to a place that reaches no registry.
//
// Floor 5.
package images

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// NewCmdImages returns the group of commands.
func NewCmdImages(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "images",
		Short: "List the container images that kind and other clusters need; save and load them",
		Long: `Say which container images a sandbox needs that does not run on the built-in
cluster, and carry them to a place that reaches no registry.

  kind       a node image: the official kindest/node, or one that
             hack/kind-node makes without a registry
  existing   the programs of this release; a cluster's nodes have to be given
             them, or a registry that they reach

The images of programs are made from this program itself where they are
needed: no registry has them.`,
		Example: `  vsphere-sandbox images list
  vsphere-sandbox images save images.tar
  vsphere-sandbox images load images.tar`,
	}, NewCmdList(d, nil), NewCmdSave(d, nil), NewCmdLoad(d, nil))
}

// options are what the commands have in common.
type options struct {
	streams *iostreams.Streams
	self    string
	detect  func(context.Context, string) (*runtime.Runtime, error)

	// runtime is the name of the runtime's command, "" for whichever answers.
	runtime string
	// kubernetes is the release that nodes have to have.
	kubernetes string
	// cache is where hack/kind-node keeps its images, "" for its default.
	cache string
}

func newOptions(d *command.Deps) options {
	return options{streams: d.Streams, self: d.Self, detect: detect, kubernetes: build.Kubernetes()}
}

// detect finds the runtime of a name, or with "" the one that up would take.
func detect(ctx context.Context, name string) (*runtime.Runtime, error) {
	if name == "" {
		return runtime.Detect(ctx)
	}
	rt := runtime.New(name)
	return rt, rt.Check(ctx)
}

// bind adds the flag that names a runtime.
func (o *options) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.runtime, "runtime", "", "container runtime: `docker`, podman or nerdctl (default: whichever answers)")
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("runtime", cobra.FixedCompletions([]string{"docker", "podman", "nerdctl"}, cobra.ShellCompDirectiveNoFileComp))
}
