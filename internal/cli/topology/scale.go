package topology

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

type scaleOptions struct {
	applyOptions

	groups []group
}

// group is a group of VMs and how many it should have.
type group struct {
	name string
	size int
}

// NewCmdScale returns the command; runF, when not nil, runs in its place.
func NewCmdScale(d *command.Deps, runF func(context.Context, *scaleOptions) error) *cobra.Command {
	o := &scaleOptions{applyOptions: applyOptions{streams: d.Streams, connect: d.Connect, format: output.Plain}}
	cmd := &cobra.Command{
		Use:   "scale GROUP=NUMBER...",
		Short: "Change the number of VMs of a group in a running sandbox",
		Long: `Change the number of VMs of a group in a running sandbox. A group are the VMs of
one datacenter whose names differ in the number at the end: worker-west-1 and
worker-west-2 are worker-west.

New VMs are like the last one of the group, on the hosts of its cluster in turn.
Those with the highest numbers go first. The topology of the sandbox changes, as
with "topology apply".`,
		Example: `  vsphere-sandbox topology scale worker-west=4
  vsphere-sandbox topology scale worker-west=4 worker-eu=1 --dry-run`,
		Args:              command.AtLeastOne("GROUP=NUMBER"),
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				name, text, ok := strings.Cut(arg, "=")
				n, err := strconv.Atoi(text)
				if !ok || name == "" || err != nil || n < 0 || n > topology.MaxScale {
					return report.UsageError("vsphere-sandbox topology scale worker-west=4", "%q: want GROUP=NUMBER, with a number from 0 to %d", arg, topology.MaxScale)
				}
				o.groups = append(o.groups, group{name, n})
			}
			return command.Or(runF, scale)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the changes without making them")
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

func scale(ctx context.Context, o *scaleOptions) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	current, err := t.Client.Topology(ctx)
	if err != nil {
		return t.Explain(ctx, err, 0)
	}
	top, err := topology.Load("topology", []byte(current.Topology))
	if err != nil {
		return err
	}
	for _, g := range o.groups {
		if err := top.Scale(g.name, g.size); err != nil {
			try := "vsphere-sandbox get vms"
			if unknown, ok := errors.AsType[*topology.GroupError](err); ok {
				if near := nearest.Of(g.name, unknown.Have); near != "" {
					try = "vsphere-sandbox topology scale " + near + "=" + strconv.Itoa(g.size)
				}
			}
			return report.UsageError(try, "%v", err)
		}
	}
	text, err := topology.Marshal(top)
	if err != nil {
		return err
	}
	return send(ctx, &o.applyOptions, t, text)
}
