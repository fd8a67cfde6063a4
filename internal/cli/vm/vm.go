package vm

import (
	"context"
	"fmt"
	"strings"

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

// NewCmdVM returns the group of commands.
func NewCmdVM(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "vm",
		Short: "Power VMs on or off; suspend, reset, hang, move or destroy them",
		Long: `Power VMs on or off; suspend, reset, hang, move or destroy them.

VM is a NAME, HOSTNAME, VCENTER/NAME or inventory path. Each command takes
several, and returns when the vCenter reports the task done; Kubernetes reacts
later: see events and wait. Before a VM of a real vCenter is changed, the
command asks and shows how the change is undone; --yes skips the question.`,
		Example: `  vsphere-sandbox vm power-off worker-west-1
  vsphere-sandbox vm power-on worker-west-1
  vsphere-sandbox vm move worker-west-1 --to esx-west-2`,
	},
		NewCmdPowerOn(d, nil), NewCmdPowerOff(d, nil), NewCmdSuspend(d, nil), NewCmdReset(d, nil), NewCmdHang(d, nil),
		NewCmdMove(d, nil), NewCmdDestroy(d, nil),
	)
}

type options struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)

	action  api.VMAction
	vms     []string
	vcenter string
	host    string // of move
	asking  confirm.Flags
	format  string
}

// newCmd returns a command with what all of them have: names, --vcenter and -o.
func newCmd(d *command.Deps, action api.VMAction, short, long string, runF func(context.Context, *options) error) (*cobra.Command, *options) {
	o := &options{streams: d.Streams, connect: d.Connect, action: action}
	runF = command.Or(runF, run)
	cmd := &cobra.Command{
		Use:               string(action) + " VM...",
		Short:             short,
		Long:              long,
		Example:           fmt.Sprintf("  vsphere-sandbox vm %s worker-west-1", action),
		Args:              command.AtLeastOne("VM"),
		ValidArgsFunction: complete.VMs(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.vms = args
			if err := o.validate(); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.vcenter, "vcenter", "", "`VCENTER` of the VMs, if names repeat")
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("vcenter", complete.Flag(complete.VCenters(d)))
	o.asking.Bind(cmd)
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML, output.Names)
	return cmd, o
}

func run(ctx context.Context, o *options) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	if o.action == api.Destroy && !o.asking.Yes {
		if ok, err := o.confirm(ctx); !ok || err != nil {
			return err
		}
	}
	return act.Each(ctx, o.streams, o.format, "vm", o.vms, func(ctx context.Context, name string) (api.Done, error) {
		return confirm.Do(ctx, o.streams, o.asking, func(consent confirm.Consent) (api.Done, error) {
			return command.Do(ctx, t, func(c *api.Client, ctx context.Context) (api.Done, error) {
				return c.VM(ctx, api.VMRequest{Action: o.action, VM: name, VCenter: o.vcenter, Host: o.host, Confirmed: consent.Confirmed})
			})
		})
	})
}

// NewCmdPowerOn returns the command; runF, when not nil, runs in its place.
func NewCmdPowerOn(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, api.PowerOn, "Power VMs on, or resume suspended ones",
		"Power VMs on, or resume suspended ones. The kubelet starts when the guest has\nbooted.", runF)
	return cmd
}

// NewCmdPowerOff returns the command; runF, when not nil, runs in its place.
func NewCmdPowerOff(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, api.PowerOff, "Power VMs off, without a guest shutdown",
		"Power VMs off, without a guest shutdown: the kubelet is killed. The node becomes\nNotReady and gets the shutdown taint.", runF)
	return cmd
}

// NewCmdSuspend returns the command; runF, when not nil, runs in its place.
func NewCmdSuspend(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, api.Suspend, "Suspend VMs (power-on resumes them)",
		"Suspend VMs: the kubelet is frozen until power-on. Kubernetes sees the same as\nafter power-off.", runF)
	return cmd
}

// NewCmdReset returns the command; runF, when not nil, runs in its place.
func NewCmdReset(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, api.Reset, "Reset VMs, without a guest shutdown",
		"Reset VMs, without a guest shutdown: the kubelet is killed and started again.", runF)
	return cmd
}

// NewCmdHang returns the command; runF, when not nil, runs in its place.
func NewCmdHang(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, api.Hang, "Hang the guests of VMs; vSphere still reports them powered on",
		"Hang the guests of VMs, like a locked-up kernel: vSphere reports them powered\non, and Kubernetes gets no heartbeat. The node becomes NotReady without the\nshutdown taint. Reset ends the hang.", runF)
	return cmd
}

// NewCmdMove returns the command; runF, when not nil, runs in its place.
func NewCmdMove(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, o := newCmd(d, api.Move, "Move VMs to another host of their vCenter",
		"Move VMs to another host of their vCenter, as vMotion does.", runF)
	cmd.Use = "move VM... --to HOST"
	cmd.Example = "  vsphere-sandbox vm move worker-west-1 --to esx-west-2"
	cmd.Flags().StringVar(&o.host, "to", "", "destination `HOST` (required)")
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("to", complete.Flag(complete.Hosts(d)))
	return cmd
}

// validate checks what flags and arguments alone can tell.
func (o *options) validate() error {
	switch {
	case o.action == api.Move && o.host == "":
		return report.UsageError(command.Program+" get hosts", "move needs --to HOST")
	case o.action == api.Destroy && !o.asking.Yes && !o.streams.Interactive():
		return report.UsageError("add --yes", "destroy needs a confirmation, and there is no terminal to ask at")
	}
	return nil
}

// NewCmdDestroy returns the command; runF, when not nil, runs in its place.
func NewCmdDestroy(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, api.Destroy, "Power VMs off and destroy them",
		"Power VMs off and destroy them. The cloud controller manager then deletes their\nnodes. The command asks first; without a terminal, --yes is required.", runF)
	return cmd
}

// confirm asks the user; no is not an error.
func (o *options) confirm(ctx context.Context) (bool, error) {
	question := fmt.Sprintf("Destroy VM %s?", strings.Join(o.vms, ", "))
	ok, err := o.streams.Confirm(ctx, question+" This cannot be undone.")
	if err == nil && !ok {
		fmt.Fprintln(o.streams.Err, "nothing was done")
	}
	return ok, err
}
