// Package schema has the command that prints the JSON schema of a kind of file.
package schema

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
)

// NewCmd returns the command "schema" of the command that is named as the kind of file is.
func NewCmd(d *command.Deps, kind string, schema func() []byte) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: fmt.Sprintf("Print the JSON schema of %s files", kind),
		Long: fmt.Sprintf(`Print the JSON schema of %s files. Editors with a YAML language server
use it for completion and help when a file begins with

  # yaml-language-server: $schema=%[1]s.schema.json`, kind),
		Example:           fmt.Sprintf(`  vsphere-sandbox %s schema > %[1]s.schema.json`, kind),
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(*cobra.Command, []string) error {
			_, err := d.Streams.Out.Write(schema())
			return err
		},
	}
}
