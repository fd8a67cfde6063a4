package migrate

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
)

// NewCmdMigrate returns the group of commands.
func NewCmdMigrate(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "migrate",
		Short: "Come from the in-tree vSphere provider",
		Long: `Lead a cluster from the vSphere provider that was part of Kubernetes, or from an
INI vsphere.conf of cloud-provider-vsphere, to what is used now.`,
		Example: `  vsphere-sandbox migrate check vsphere.conf --context prod
  vsphere-sandbox migrate config vsphere.conf --out new
  vsphere-sandbox migrate roles vsphere.conf
  vsphere-sandbox migrate plan vsphere.conf --context prod --out plan.md`,
	}, NewCmdCheck(d, nil), NewCmdConfig(d, nil), NewCmdPlan(d, nil), NewCmdRoles(d, nil))
}
