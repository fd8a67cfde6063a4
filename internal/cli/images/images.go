// Package images is the commands about the container images that a sandbox needs where its cluster is not the built-in one:
// which those are and where they are, and how they get to a place that reaches no registry.
//
// Floor 5.
package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// NewCmdImages returns the group of commands.
func NewCmdImages(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "images",
		Short: "List, save and load the images that kind and existing clusters need",
		Long: `List, save and load the container images of the grounds that run in containers.
Use it to prepare a machine that cannot reach a registry.

  kind       a node image: the official kindest/node, or one that
             hack/kind-node builds without a registry
  existing   the image of this program, for the nodes of that cluster

No registry has the image of this program: it is built from the running binary
when it is needed.`,
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
	return options{streams: d.Streams, self: d.Self, detect: detect, kubernetes: release.Kind()}
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
	cmd.Flags().StringVar(&o.runtime, "runtime", "", "container `RUNTIME`: docker, podman or nerdctl (default: the first that responds)")
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("runtime", cobra.FixedCompletions([]string{"docker", "podman", "nerdctl"}, cobra.ShellCompDirectiveNoFileComp))
}

type loadOptions struct {
	options
	file   string
	format string
}

// NewCmdLoad returns the command; runF, when not nil, runs in its place.
func NewCmdLoad(d *command.Deps, runF func(context.Context, *loadOptions) error) *cobra.Command {
	o := &loadOptions{options: newOptions(d)}
	if runF == nil {
		runF = load
	}
	cmd := &cobra.Command{
		Use:   "load FILE",
		Short: "Load images from a file into the container runtime",
		Long: `Load the images of a file that "images save" wrote into the container runtime:
Docker, Podman or nerdctl. The whole file is checked against its digests first;
nothing is loaded from a damaged file. Images that the runtime has are skipped.`,
		Example: `  vsphere-sandbox images load images.tar
  vsphere-sandbox images load images.tar --runtime podman`,
		Args:              cobra.MatchAll(command.AtLeastOne("FILE"), command.AtMostOne),
		ValidArgsFunction: complete.OneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = args[0]
			return runF(cmd.Context(), o)
		},
	}
	o.bind(cmd)
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

// answer is what programs get.
type answer struct {
	Runtime string      `json:"runtime"`
	Images  []imageDone `json:"images"`
}

type imageDone struct {
	images.Item
	// Loaded is false where the runtime had it.
	Loaded bool `json:"loaded"`
}

func load(ctx context.Context, o *loadOptions) error {
	p := newProgress(o.streams)
	defer p.end()
	p.now("checking " + o.file)
	archive, err := images.Open(ctx, o.file, p.share)
	if errors.Is(err, fs.ErrNotExist) {
		return report.UsageError("vsphere-sandbox images save "+o.file+", on a machine that has the images", "there is no file %s", o.file)
	} else if err != nil {
		return explain(err)
	}
	rt, err := o.detect(ctx, o.runtime)
	if err != nil {
		return explain(err)
	}
	p.now("loading into " + rt.Name())
	loaded, err := archive.Load(ctx, images.Store{Runtime: rt}, p.share)
	if err != nil {
		return explain(err)
	}
	p.end()
	done := answer{Runtime: rt.Name()}
	for _, l := range loaded {
		done.Images = append(done.Images, imageDone{l.Item, !l.Had})
	}
	if o.format == output.JSON || o.format == output.YAML {
		return output.Object(o.streams.Out, o.format, "LoadedImages", done)
	}
	for _, i := range done.Images {
		text := "loaded"
		if !i.Loaded {
			text = "was there"
		}
		if _, err := fmt.Fprintf(o.streams.Out, "%s: %s\n", i.Name, text); err != nil {
			return err
		}
	}
	return nil
}
