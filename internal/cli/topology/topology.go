package topology

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
)

// NewCmdTopology returns the group of commands.
func NewCmdTopology(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:     "topology",
		Aliases: []string{"topo"},
		Short:   "Check topologies, write them out, draw them, apply them",
		Long: `Work on topologies as they are written, and bring a sandbox to one.

A topology is a scenario that comes with the program, or a file. What it
includes is read with it, and --set chooses the values of its parameters.`,
		Example: `  vsphere-sandbox topology validate my-topology.yaml
  vsphere-sandbox topology render my-topology.yaml --set workers=5
  vsphere-sandbox topology graph zones-us-eu
  vsphere-sandbox topology apply my-topology.yaml --dry-run
  vsphere-sandbox topology schema > topology.schema.json`,
	}, NewCmdValidate(d, nil), NewCmdRender(d, nil), NewCmdGraph(d, nil), NewCmdApply(d, nil), NewCmdSchema(d))
}
