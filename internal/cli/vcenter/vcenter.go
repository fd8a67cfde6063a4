// Package vcenter is the commands that run vCenters alone and set what clients get of them.
package vcenter

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/act"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdVCenter returns the group of commands.
func NewCmdVCenter(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:     "vcenter",
		Aliases: []string{"vc"},
		Short:   "Run vCenters without Kubernetes; stop, slow or hang their APIs",
		Long: `Run vCenters without Kubernetes, or stop, slow or hang the API of a sandbox's
vCenters.

down, slow, hang and up act on the proxy in front of a vCenter, so they affect
all clients: CCM, CSI driver, govc. Inventory, sessions and tags survive, and
the sandbox's own watch, which bypasses the proxy, continues.`,
		Example: `  vsphere-sandbox vcenter down eu
  vsphere-sandbox vcenter slow us --delay 500ms
  vsphere-sandbox vcenter up us eu`,
	}, NewCmdUp(d, nil), NewCmdDown(d, nil), NewCmdSlow(d, nil), NewCmdHang(d, nil), NewCmdSave(d, nil))
}

type options struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)

	mode     string
	vcenters []string
	delay    time.Duration // of slow
	format   string
}

// NewCmdDown returns the command; runF, when not nil, runs in its place.
func NewCmdDown(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, "down", "down", "Refuse new connections to vCenters and close open ones", runF)
	return cmd
}

// NewCmdSlow returns the command; runF, when not nil, runs in its place.
func NewCmdSlow(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, o := newCmd(d, "slow", "slow", "Delay each call to vCenters", runF)
	cmd.Example = "  vsphere-sandbox vcenter slow eu --delay 2s"
	cmd.Flags().DurationVar(&o.delay, "delay", 250*time.Millisecond, "delay of each call")
	return cmd
}

// NewCmdHang returns the command; runF, when not nil, runs in its place.
func NewCmdHang(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, "hang", "hung", "Accept calls to vCenters and never answer them", runF)
	return cmd
}

func newCmd(d *command.Deps, verb, mode, short string, runF func(context.Context, *options) error) (*cobra.Command, *options) {
	o := &options{streams: d.Streams, connect: d.Connect, mode: mode}
	runF = command.Or(runF, run)
	cmd := &cobra.Command{
		Use:               verb + " VCENTER...",
		Short:             short,
		Example:           fmt.Sprintf("  vsphere-sandbox vcenter %s eu", verb),
		Args:              command.AtLeastOne("VCENTER"),
		ValidArgsFunction: complete.VCenters(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.vcenters = args
			if o.mode == "slow" && o.delay <= 0 {
				return report.UsageError("--delay 250ms", "--delay %s is not a delay", o.delay)
			}
			return runF(cmd.Context(), o)
		},
	}
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML, output.Names)
	return cmd, o
}

func run(ctx context.Context, o *options) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	return act.Each(ctx, o.streams, o.format, "vcenter", o.vcenters, func(ctx context.Context, name string) (api.Done, error) {
		return command.Do(ctx, t, func(c *api.Client, ctx context.Context) (api.Done, error) {
			return c.Gate(ctx, api.GateRequest{VCenter: name, Mode: o.mode, Delay: api.Duration(o.delay)})
		})
	})
}
