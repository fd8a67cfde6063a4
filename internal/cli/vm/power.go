package vm

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdPowerOn returns the command; runF, when not nil, runs in its place.
func NewCmdPowerOn(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, api.PowerOn, "Power VMs on, or resume suspended ones",
		"Power VMs on, or resume suspended ones. The guest takes a moment to boot; then\nits kubelet starts.", runF)
	return cmd
}

// NewCmdPowerOff returns the command; runF, when not nil, runs in its place.
func NewCmdPowerOff(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, api.PowerOff, "Power VMs off, as pulling the plug does",
		"Power VMs off, as pulling the plug does: the kubelet is killed. The node goes\nNotReady and gets the shutdown taint.", runF)
	return cmd
}

// NewCmdSuspend returns the command; runF, when not nil, runs in its place.
func NewCmdSuspend(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, api.Suspend, "Suspend VMs; power-on resumes them",
		"Suspend VMs: the kubelet is stopped in its tracks, until power-on. For\nKubernetes that is the same as power-off.", runF)
	return cmd
}

// NewCmdReset returns the command; runF, when not nil, runs in its place.
func NewCmdReset(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, api.Reset, "Reset VMs, as the reset button does",
		"Reset VMs, as the reset button does: the kubelet is killed and started again.", runF)
	return cmd
}

// NewCmdHang returns the command; runF, when not nil, runs in its place.
func NewCmdHang(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, api.Hang, "Hang the guests of VMs, where vSphere does not see it",
		"Hang the guests of VMs, as a kernel that has locked up: vSphere sees them\npowered on, Kubernetes no heartbeat. The node goes NotReady without the\nshutdown taint. Reset ends it.", runF)
	return cmd
}
