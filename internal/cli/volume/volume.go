// Package volume is the commands that do something to volumes in vSphere, past Kubernetes, and that find their files.
package volume

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/act"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/confirm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdVolume returns the group of commands.
func NewCmdVolume(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "volume",
		Short: "Detach or move volumes in vSphere; find their files",
		Long: `Detach or move volumes in vSphere without telling Kubernetes, as a vSphere
administrator could, and find the files of a volume.

VOLUME is a claim (NAME or NAMESPACE/NAME), a PersistentVolume or an ID in CNS.
"get volumes" lists them.`,
		Example: `  vsphere-sandbox volume detach data-web-0
  vsphere-sandbox volume relocate data-web-0 --to us-west-ds
  echo hello > "$(vsphere-sandbox volume path data-web-0)/hello"`,
	}, NewCmdDetach(d, nil), NewCmdRelocate(d, nil), NewCmdPath(d, nil))
}

type options struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)

	action    api.VolumeAction
	volumes   []string
	datastore string // of relocate
	asking    confirm.Flags
	format    string
}

func newCmd(d *command.Deps, action api.VolumeAction, cmd *cobra.Command, runF func(context.Context, *options) error) (*cobra.Command, *options) {
	o := &options{streams: d.Streams, connect: d.Connect, action: action}
	runF = command.Or(runF, run)
	cmd.Args, cmd.ValidArgsFunction = command.AtLeastOne("VOLUME"), complete.Volumes(d)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.volumes = args; action == api.RelocateVolume && o.datastore == "" {
			return report.UsageError("vsphere-sandbox get datastores", "volume relocate needs a datastore to move to: --to DATASTORE")
		}
		return runF(cmd.Context(), o)
	}
	o.asking.Bind(cmd)
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML, output.Names)
	return cmd, o
}

// NewCmdDetach returns the command; runF, when not nil, runs in its place.
func NewCmdDetach(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, api.DetachVolume, &cobra.Command{
		Use:   "detach VOLUME...",
		Short: "Detach volumes from their VMs without telling Kubernetes",
		Long: `Detach volumes from their VMs in vSphere only. Kubernetes still believes that
they are attached, until csi-attacher compares both.`,
		Example: "  vsphere-sandbox volume detach data-web-0",
	}, runF)
	return cmd
}

// NewCmdRelocate returns the command; runF, when not nil, runs in its place.
func NewCmdRelocate(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, o := newCmd(d, api.RelocateVolume, &cobra.Command{
		Use:     "relocate VOLUME... --to DATASTORE",
		Short:   "Move volumes to another datastore of their vCenter",
		Long:    "Move volumes to another datastore of their vCenter. Their PersistentVolumes do\nnot change, so their zones may not be able to use the new datastore.",
		Example: "  vsphere-sandbox volume relocate data-web-0 --to us-west-ds",
	}, runF)
	cmd.Flags().StringVar(&o.datastore, "to", "", "destination `DATASTORE`: name, inventory path or URL")
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("to", complete.Flag(complete.Datastores(d)))
	return cmd
}

func run(ctx context.Context, o *options) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	return act.Each(ctx, o.streams, o.format, "volume", o.volumes, func(ctx context.Context, name string) (api.Done, error) {
		return confirm.Do(ctx, o.streams, o.asking, func(consent confirm.Consent) (api.Done, error) {
			return command.Do(ctx, t, func(c *api.Client, ctx context.Context) (api.Done, error) {
				return c.Volume(ctx, api.VolumeRequest{Action: o.action, Volume: name, Datastore: o.datastore, Confirmed: consent.Confirmed})
			})
		})
	})
}

// NewCmdPath returns the command; runF, when not nil, runs in its place.
func NewCmdPath(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, connect: d.Connect}
	runF = command.Or(runF, runPath)
	cmd := &cobra.Command{
		Use:   "path VOLUME",
		Short: "Print the directory where a volume is mounted",
		Long: `Print the directory where a volume is mounted. No containers run in the default
ground: files that you write there are what the pod would have written, and they
move with the volume to the next node. A volume that is not mounted has no
directory.

A disk of the in-tree provider that is attached to a VM, and not a volume yet,
is given by its path, "[datastore] kubevols/file.vmdk".`,
		Example:           `  echo hello > "$(vsphere-sandbox volume path data-web-0)/hello"`,
		Args:              command.ExactlyOne("VOLUME"),
		ValidArgsFunction: complete.Once(complete.Volumes(d)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.volumes = args
			return runF(cmd.Context(), o)
		},
	}
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

func runPath(ctx context.Context, o *options) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	p, err := command.Ask(ctx, t, func(c *api.Client, ctx context.Context) (api.Path, error) {
		return c.VolumePath(ctx, api.PathRequest{Volume: o.volumes[0]})
	})
	if err != nil {
		return err
	}
	if o.format == output.JSON || o.format == output.YAML {
		return output.Object(o.streams.Out, o.format, "Path", p)
	}
	_, err = fmt.Fprintln(o.streams.Out, p.Path)
	return err
}
