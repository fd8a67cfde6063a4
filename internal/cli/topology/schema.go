package topology

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// NewCmdSchema returns the command.
func NewCmdSchema(d *command.Deps) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of topology files, for editors",
		Long: `Print the JSON schema of topology files. Editors with a YAML language server
complete and explain keys by it when a file begins with

  # yaml-language-server: $schema=topology.schema.json`,
		Example:           `  vsphere-sandbox topology schema > topology.schema.json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(*cobra.Command, []string) error {
			_, err := d.Streams.Out.Write(topology.Schema())
			return err
		},
	}
}
