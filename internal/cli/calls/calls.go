// Package calls has the commands that show what clients and vCenters say to each other, and say it again.
//
// Floor 5.
package calls

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
)

// NewCmdCalls returns the group of commands.
func NewCmdCalls(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "calls",
		Short: "Show the API calls to vCenters with their bodies, or send them again",
		Long: `Show the API calls that clients make to the vCenters of a sandbox, SOAP and
REST, with what they send and get, or send them to another vCenter and compare
the answers. Passwords, cookies and tokens are masked.

A sandbox keeps its calls with "up --trace FILE". Without it, "calls dump -f"
shows those from now on.`,
		Example: `  vsphere-sandbox calls dump -f --client ccm
  vsphere-sandbox calls dump run.trace -o har > run.har
  vsphere-sandbox calls replay run.trace`,
	}, NewCmdDump(d, nil), NewCmdReplay(d, nil))
}
