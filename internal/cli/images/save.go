package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/nodeimage"
)

type saveOptions struct {
	options
	file   string
	ground string
	force  bool
}

// NewCmdSave returns the command; runF, when not nil, runs in its place.
func NewCmdSave(d *command.Deps, runF func(context.Context, *saveOptions) error) *cobra.Command {
	o := &saveOptions{options: newOptions(d)}
	runF = command.Or(runF, save)
	cmd := &cobra.Command{
		Use:   "save FILE",
		Short: "Save the images that a ground needs to one file",
		Long: `Save the images that a ground needs to one file. Load it on another machine with
"images load" or "docker load".

A node image comes from the container runtime or from the cache of
hack/kind-node; if neither has it, it is downloaded.`,
		Example: `  vsphere-sandbox images save images.tar
  vsphere-sandbox images save programs.tar --ground existing`,
		Args:              cobra.MatchAll(command.AtLeastOne("FILE"), command.AtMostOne),
		ValidArgsFunction: complete.OneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = args[0]
			if err := checkGround(o.ground); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	o.bind(cmd)
	bindGround(cmd, &o.ground, kindGround, "what this `GROUND` needs: kind or existing")
	cmd.Flags().BoolVar(&o.force, "force", false, "overwrite FILE")
	return cmd
}

func save(ctx context.Context, o *saveOptions) error {
	if _, err := os.Lstat(o.file); err == nil && !o.force {
		return report.UsageError("--force   # to overwrite it", "%s already exists", o.file)
	}
	f, err := atomicfile.Create(o.file, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		return report.UsageError("a folder that exists", "%s: its folder does not exist", o.file)
	}
	if err != nil {
		return err
	}
	defer f.Discard()
	p := newProgress(o.streams)
	defer p.end()
	w := images.NewWriter(&counter{w: f, reported: p.written}, build.Version())
	if err := o.write(ctx, w, p); err != nil {
		return explain(err)
	}
	if err := w.Close(); err != nil {
		return err
	}
	p.end()
	info, err := f.Stat()
	if err = errors.Join(err, f.Sync()); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	for _, i := range w.Images() {
		fmt.Fprintf(o.streams.Err, "  ✓ %s (%s, %s)\n", i.Name, output.Bytes(i.Size), i.ID)
	}
	_, err = fmt.Fprintf(o.streams.Out, "%s: %d images, %s\n", o.file, len(w.Images()), output.Bytes(info.Size()))
	return err
}

func (o *saveOptions) write(ctx context.Context, w *images.Writer, p *progress) error {
	p.now("packing the programs")
	set, err := o.programs(ctx) // before anything that takes its time
	if err != nil {
		return err
	}
	if slices.Contains(parts(o.ground), nodePart) {
		if err := o.node(ctx, w, p); err != nil {
			return err
		}
	}
	return pack(ctx, w, set)
}

// node adds a node image: without a runtime the one of the cache, which is as good.
func (o *saveOptions) node(ctx context.Context, w *images.Writer, p *progress) error {
	rt, broken := o.detect(ctx, o.runtime)
	if broken != nil {
		all, err := o.finder(images.Store{}, nil).Archived(ctx)
		if err != nil || len(all) == 0 {
			return broken
		}
		return archived(ctx, w, p, all[0])
	}
	store := images.Store{Runtime: rt}
	finder := o.finder(store, p.now)
	all, err := finder.List(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 { // it may be fetched
		found, err := finder.Find(ctx)
		if err != nil {
			return err
		}
		all = append(all, found)
	}
	if all[0].Archive != "" {
		return archived(ctx, w, p, all[0])
	}
	p.now("packing " + all[0].Name)
	return w.AddFrom(ctx, store, images.Item{Name: all[0].Name, Part: nodePart, Kubernetes: all[0].Kubernetes})
}

// archived adds the image of hack/kind-node's archive.
func archived(ctx context.Context, w *images.Writer, p *progress, i nodeimage.Image) error {
	p.now("packing " + i.Name)
	f, err := os.Open(i.Archive)
	if err != nil {
		return err
	}
	defer f.Close()
	return w.Add(ctx, f, images.Item{Name: i.Name, Part: nodePart, Kubernetes: i.Kubernetes})
}

// counter counts the bytes written.
type counter struct {
	w        io.Writer
	done     int64
	reported func(int64)
}

// Write implements [io.Writer].
func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.done += int64(n)
	c.reported(c.done)
	return n, err
}
