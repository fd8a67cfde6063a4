package ccm

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdRestart returns the command; runF, when not nil, runs in its place.
func NewCmdRestart(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, connect: d.Connect}
	cmd := &cobra.Command{
		Use:               "restart",
		Short:             "End the CCM in order and start it again",
		Long:              "End the CCM in order (SIGTERM) and start it again. The command returns when it\nis healthy.",
		Example:           "  vsphere-sandbox ccm restart",
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), o)
			}
			t, err := o.connect(cmd.Context())
			if err != nil {
				return err
			}
			done, err := command.Do(cmd.Context(), t, (*api.Client).RestartCCM)
			return tell(o, done, err)
		},
	}
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}
