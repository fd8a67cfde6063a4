package csi

import (
	"fmt"
	"io"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/term"
)

// printHelp writes every flag, by sections, as wide as the terminal that w may be.
func (c *command) printHelp(w io.Writer) {
	fmt.Fprintf(w, `The vSphere CSI driver gives the pods of a Kubernetes cluster whose nodes are virtual machines volumes that are disks on
the datastores of their vCenters: created, attached, expanded, snapshotted.

One controller serves the sidecars (external-provisioner, attacher, resizer, snapshotter); on every node there is one that
serves the kubelet.

Usage:
  %[1]s --mode=controller --endpoint=unix:///csi/csi.sock --config=FILE [FLAGS]
  %[1]s --mode=node --endpoint=unix:///csi/csi.sock --node-name=NAME [FLAGS]
`, commandName)
	columns, _, _ := term.TerminalSize(w)
	cliflag.PrintSections(w, c.sections, columns)
}
