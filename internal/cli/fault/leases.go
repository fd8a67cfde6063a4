package fault

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

type leasesOptions struct {
	streams *iostreams.Streams
	now     func() time.Time
	connect func(context.Context) (*command.Target, error)

	all   bool
	flags output.Flags
}

// NewCmdLeases returns the command; runF, when not nil, runs in its place.
func NewCmdLeases(d *command.Deps, runF func(context.Context, *leasesOptions) error) *cobra.Command {
	o := &leasesOptions{streams: d.Streams, now: d.Now, connect: d.Connect}
	if runF == nil {
		runF = runLeases
	}
	cmd := &cobra.Command{
		Use:   "leases",
		Short: "List the faults that are in force",
		Long: `List the faults that are in force, and those that could not be healed. With
--all, those that were healed, too: the last thousand.`,
		Example: `  vsphere-sandbox fault leases
  vsphere-sandbox fault leases --all -o wide`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	o.flags.Bind(cmd)
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "those that were healed, too")
	return cmd
}

func runLeases(ctx context.Context, o *leasesOptions) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	leases, err := command.Ask(ctx, t, (*api.Client).Leases)
	if err != nil {
		return err
	}
	if !o.all {
		leases = slices.DeleteFunc(leases, healed)
	}
	if len(leases) == 0 && o.flags.Format != output.JSON && o.flags.Format != output.YAML {
		fmt.Fprintln(o.streams.Err, "nothing is broken")
	}
	return output.List(o.streams.Out, o.flags, tables.Leases(o.now()), leases)
}

func healed(l api.Lease) bool { return l.State == "healed" }
