// Package explain is the commands that tell in words how something has come to be as it is.
package explain

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
)

// NewCmdExplain returns the group of commands.
func NewCmdExplain(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:     "explain",
		Short:   "Tell what a volume is, what it waits for and what became of it",
		Long:    "Tell in words how something has come to be as it is.",
		Example: "  vsphere-sandbox explain volume data-web-0",
	}, NewCmdVolume(d, nil))
}
