package up

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/leftovers"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

// tellUnreverted says that an earlier sandbox of the name has left writes at real vCenters, which one of simulated ones does
// not know how to take back.
func (o *options) tellUnreverted(root string) {
	if o.real != nil {
		return // then they are, or it is refused
	}
	if all, err := leftovers.Unreverted(root); err == nil && all[o.name] > 0 {
		fmt.Fprintln(o.Streams.Err, "note: of an earlier sandbox of this name,", leftovers.Words(o.name, all[o.name]))
	}
}

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
	if o.ground.Cluster == ground.Kind && cmd.Flags().Changed("csi") && o.csi.Driver != csi.Off {
		return report.UsageError("--csi off, or --cluster kind without --vcenter-config",
			"--csi %s: the disks of a real VM are not in the container that is its node", o.csi.Driver)
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
	// One that runs has its journal open, and is not to be mistaken for one that has died.
	if err := instance.Taken(root, o.name); err != nil && !o.dryRun {
		return explainState(o, err)
	}
	progress := vcenterconfig.NewProgress(o.Streams.Err, o.Streams.ErrTTY())
	defer progress.Close()
	if o.real.Scope.AllowWrites && !o.dryRun {
		if err := leftovers.Writes(ctx, filepath.Join(root, o.name), o.Getenv, func(text string) { fmt.Fprintln(o.Streams.Err, printable.Lines(text)) }); err != nil {
			return err
		}
	}
	recording, err := o.real.Read(ctx, o.name)
	if err != nil {
		return vcenterconfig.Explain(ctx, err)
	}
	progress.Close()
	for _, w := range recording.Warnings {
		fmt.Fprintln(o.Streams.Err, "note:", printable.Line(w))
	}
	o.topology = recording.Topology
	o.lighten()
	return nil
}
