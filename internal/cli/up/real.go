package up

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/leftovers"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
)

// completeReal checks the flags of real vCenters, which take the place of a scenario or file.
func (o *options) completeReal(cmd *cobra.Command, args []string) error {
	if !o.realFlags.Asked() {
		return o.realFlags.Unasked(cmd)
	}
	if len(args) > 0 {
		return report.UsageError("vsphere-sandbox up --vcenter-config FILE", "%s: real vCenters are what they are: no scenario and no topology goes with --vcenter-config", args[0])
	}
	if len(o.set) > 0 {
		return report.UsageError("vsphere-sandbox up --vcenter-config FILE", "--set is about the parameters of a topology: no topology goes with --vcenter-config")
	}
	if !cmd.Flags().Changed("csi") {
		o.csi.Driver = csi.Off // no write scope is about making volumes
	}
	var err error
	o.real, err = o.realFlags.Complete(o.Getenv)
	return err
}

// readReal reads the vCenters' inventory: what the sandbox is made of. What an earlier sandbox of the name has left there is
// taken back first, for a VM that it has left off is no node.
func (o *options) readReal(ctx context.Context) error {
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	progress := vcenterconfig.NewProgress(o.Streams.Err, o.Streams.ErrTTY())
	defer progress.Close()
	if o.real.Scope.AllowWrites && !o.dryRun {
		if err := leftovers.Writes(ctx, filepath.Join(root, o.name), o.Getenv, func(text string) { fmt.Fprintln(o.Streams.Err, text) }); err != nil {
			return err
		}
	}
	recording, err := o.real.Read(ctx, o.name)
	if err != nil {
		return vcenterconfig.Explain(ctx, err)
	}
	progress.Close()
	for _, w := range recording.Warnings {
		fmt.Fprintln(o.Streams.Err, "note:", w)
	}
	o.topology = recording.Topology
	return nil
}
