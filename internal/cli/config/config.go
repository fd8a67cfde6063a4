package config

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
)

// NewCmdConfig returns the group of commands.
func NewCmdConfig(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "config",
		Short: "Check the cloud provider's vsphere.conf, write it out",
		Long: `Work on vsphere.conf, the configuration file of the vSphere cloud provider, as
it is written: in YAML or INI, for the upstream provider or for the one that was
in Kubernetes itself.

The environment, from which a cloud provider takes values too, is not looked at.`,
		Example: `  vsphere-sandbox config validate vsphere.conf
  vsphere-sandbox config validate vsphere.conf --secret-dir /etc/cloud/secrets
  vsphere-sandbox config render vsphere.conf`,
	}, NewCmdValidate(d, nil), NewCmdRender(d, nil))
}

// oneFile accepts one argument.
func oneFile() cobra.PositionalArgs {
	return cobra.MatchAll(command.AtLeastOne("FILE"), command.AtMostOne)
}
