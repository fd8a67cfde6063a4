package ccm

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

// NewCmdCCM returns the group of commands.
func NewCmdCCM(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "ccm",
		Short: "Show, replace and restart the cloud controller manager (CCM)",
		Long: `Show, replace or restart the cloud controller manager (CCM) of a running
sandbox. SOURCE is one of:

  builtin         the provider that is built into this program
  PATH            a binary that accepts the flags of a CCM
  image:REF       the binary of a container image; needs a registry, no Docker
  archive:FILE    the same from "docker save", or an OCI layout (file or folder)
  module:VERSION  upstream's release, built from k8s.io/cloud-provider-vsphere

The CCM runs as a process with the sandbox's vsphere.conf, Secret and
ServiceAccount. A CCM other than builtin gets the permissions of upstream's
manifests, and read access to EndpointSlices.`,
		Example: `  vsphere-sandbox ccm status
  vsphere-sandbox ccm swap module:v1.36.0
  vsphere-sandbox ccm swap builtin
  vsphere-sandbox ccm fetch image:registry.k8s.io/cloud-pv-vsphere/cloud-provider-vsphere:v1.36.0`,
	}, NewCmdStatus(d, nil), NewCmdSwap(d, nil), NewCmdRestart(d, nil), NewCmdFetch(d, nil))
}

type options struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)

	flags  Flags
	format string
}
