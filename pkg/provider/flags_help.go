package provider

import (
	"fmt"
	"io"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/term"
)

// printHelp writes every flag, by sections, as wide as the terminal that w may be.
func (c *command) printHelp(w io.Writer) {
	fmt.Fprintf(w, `The vSphere cloud controller manager initializes the nodes of a Kubernetes cluster that are virtual machines of one or
more vCenters: providerID, addresses, instance type, region and zone. It taints those whose VM is off, and deletes
those whose VM is gone for certain.

Where the vCenters are is in the cloud config, upstream's vsphere.conf; without --cloud-config it is in environment
variables (VSPHERE_VCENTER and so on). A changed file is taken up without a restart where that is safe.

Usage:
  %s --cloud-config=FILE [FLAGS]
`, commandName)
	columns, _, _ := term.TerminalSize(w)
	cliflag.PrintSections(w, c.sections, columns)
}
