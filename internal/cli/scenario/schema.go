package scenario

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

// NewCmdSchema returns the command.
func NewCmdSchema(d *command.Deps) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of scenario files, for editors",
		Long: `Print the JSON schema of scenario files. Editors with a YAML language server
complete and explain keys by it when a file begins with

  # yaml-language-server: $schema=scenario.schema.json`,
		Example:           `  vsphere-sandbox scenario schema > scenario.schema.json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(*cobra.Command, []string) error {
			_, err := d.Streams.Out.Write(scenario.Schema())
			return err
		},
	}
}
