// Package taint is the commands that taint nodes as the people do who run a cluster.
package taint

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/act"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdTaint returns the group of commands.
func NewCmdTaint(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:     "taint",
		Short:   "Mark nodes out of service",
		Long:    "Mark nodes out of service, as an administrator does when a machine is lost. For\nany other taint, use \"vsphere-sandbox kubectl taint\".",
		Example: "  vsphere-sandbox taint out-of-service worker-west-1",
	}, NewCmdOutOfService(d, nil))
}

type options struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)

	nodes  []string
	remove bool
	format string
}

// NewCmdOutOfService returns the command; runF, when not nil, runs in its place.
func NewCmdOutOfService(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, connect: d.Connect}
	runF = command.Or(runF, run)
	cmd := &cobra.Command{
		Use:   "out-of-service NODE...",
		Short: "Mark nodes out of service, so that pods and volumes move",
		Long: `Add the taint node.kubernetes.io/out-of-service=nodeshutdown:NoExecute to nodes.

The taint states that the machine is off and stays off: Kubernetes deletes its
pods within 20 seconds at any speed, and detaches volumes at once instead of
after six minutes. On a machine that still runs, this would corrupt data; here
you can watch it.`,
		Example: `  vsphere-sandbox vm power-off worker-west-1
  vsphere-sandbox taint out-of-service worker-west-1
  vsphere-sandbox taint out-of-service worker-west-1 --remove`,
		Args:              command.AtLeastOne("NODE"),
		ValidArgsFunction: complete.Nodes(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.nodes = args
			return runF(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.remove, "remove", false, "remove the taint")
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML, output.Names)
	return cmd
}

func run(ctx context.Context, o *options) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	return act.Each(ctx, o.streams, o.format, "node", o.nodes, func(ctx context.Context, name string) (api.Done, error) {
		return command.Do(ctx, t, func(c *api.Client, ctx context.Context) (api.Done, error) {
			return c.OutOfService(ctx, api.OutOfServiceRequest{Node: name, Remove: o.remove})
		})
	})
}
