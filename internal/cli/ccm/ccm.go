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
		Short: "Swap, restart and look at the cloud controller manager; fetch one",
		Long: `Say which cloud controller manager (CCM) runs in a sandbox, while it runs.

Where a CCM comes from:

  builtin         the provider that is part of this program
  PATH            a program that takes the flags of cloud controller managers
  image:REF       the program of an image in a registry; needs no Docker
  archive:FILE    the same from "docker save", or an OCI layout (file or folder)
  module:VERSION  upstream's release, built from k8s.io/cloud-provider-vsphere

It runs as a process, with the sandbox's vsphere.conf, Secret and
ServiceAccount. One that is not this project's gets the rights of upstream's
manifests.`,
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
