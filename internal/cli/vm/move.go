package vm

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdMove returns the command; runF, when not nil, runs in its place.
func NewCmdMove(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, o := newCmd(d, api.Move, "Move VMs to another host of their vCenter",
		"Move VMs to another host of their vCenter, as vMotion does.", runF)
	cmd.Use = "move VM... --to HOST"
	cmd.Example = "  vsphere-sandbox vm move worker-west-1 --to esx-west-2"
	cmd.Flags().StringVar(&o.host, "to", "", "the `HOST` to move them to (required)")
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
		return report.UsageError("add --yes", "destroy asks first, and there is nobody to ask")
	}
	return nil
}
