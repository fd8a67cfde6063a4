package up

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/leftovers"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

// reportUnreverted says that an earlier sandbox of the name has left writes at real vCenters, which one of simulated ones does
// not know how to take back.
func (o *options) reportUnreverted(root string) {
	if o.real != nil {
		return // then they are, or it is refused
	}
	if all, err := leftovers.Unreverted(root); err == nil && all[o.name] > 0 {
		fmt.Fprintln(o.Streams.Err, "note: of an earlier sandbox of this name,", leftovers.Words(o.name, all[o.name]))
	}
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
