package explain

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdVolume returns the command; runF, when not nil, runs in its place.
func NewCmdVolume(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, "volume", &cobra.Command{
		Use:   "volume VOLUME",
		Short: "Tell where a volume is, what it waits for, and how it came there",
		Long: `Tell of a volume how it hangs together from the claim to the disk of a VM, what
its next step waits for, what ends the wait, and what has happened to it.

Name it by its claim, its PersistentVolume or its id in CNS.`,
		Example:           "  vsphere-sandbox explain volume data-web-0",
		ValidArgsFunction: complete.Once(complete.Volumes(d)),
	}, runF)
}

// tellVolume prints the row of a volume, from the claim to the pods.
func tellVolume(w io.Writer, v api.Volume) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s:\t%s\n", name, printable.Line(value))
		}
	}
	line("Claim", v.Claim)
	if v.Name != v.Claim {
		line("PersistentVolume", v.Name)
	}
	line("StorageClass", v.StorageClass)
	line("CNS volume", v.Handle)
	line("Size", output.Bytes(v.CapacityBytes))
	if v.Datastore != "" {
		line("Datastore", v.Datastore+" of vCenter "+v.VCenter)
	}
	line("VM with the disk", v.VM)
	switch {
	case v.Node != "" && v.Attached:
		line("Node", v.Node+" (attached)")
	case v.Node != "":
		line("Node", v.Node+" (to be attached)")
	}
	line("Pods", strings.Join(v.Pods, ", "))
	line("State", string(v.State))
	line("Waits for", v.Waits)
	line("Try", v.Try)
	return t.Flush()
}
