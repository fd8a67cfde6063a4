package get

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
)

// NewCmdGet returns the group of commands.
func NewCmdGet(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "get",
		Short: "List vCenters, datacenters, hosts, VMs, nodes, zones, datastores or volumes; print the kubeconfig",
		Long: `List what is in a sandbox, or print its kubeconfig.

Lists are in the order of the topology. Names after the kind choose what is
listed; a name that is not there is an error.`,
		Example: `  vsphere-sandbox get nodes
  vsphere-sandbox get vms worker-west-1 worker-east-1 -o wide
  vsphere-sandbox get zones -o json
  vsphere-sandbox get volumes
  vsphere-sandbox get nodes --watch`,
	},
		NewCmdVCenters(d, nil), NewCmdDatacenters(d, nil), NewCmdHosts(d, nil), NewCmdVMs(d, nil),
		NewCmdNodes(d, nil), NewCmdZones(d, nil), NewCmdDatastores(d, nil), NewCmdVolumes(d, nil), NewCmdKubeconfig(d, nil),
	)
}
