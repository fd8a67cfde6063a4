package fault

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

type healOptions struct {
	streams *iostreams.Streams
	deps    *command.Deps
	connect func(context.Context) (*command.Target, error)

	request api.HealRequest
	format  string
}

// NewCmdHeal returns the command; runF, when not nil, runs in its place.
func NewCmdHeal(d *command.Deps, runF func(context.Context, *healOptions) error) *cobra.Command {
	o := &healOptions{streams: d.Streams, deps: d, connect: d.Connect}
	if runF == nil {
		runF = runHeal
	}
	cmd := &cobra.Command{
		Use:   "heal LEASE... | --all",
		Short: "Put right again what a fault has broken",
		Long: `Put right again what a fault has broken, and return when that is done. To heal
again what was healed before does no harm. What cannot be healed now is tried
again for as long as the sandbox runs.`,
		Example: `  vsphere-sandbox fault heal f1 f2
  vsphere-sandbox fault heal --all`,
		ValidArgsFunction: completeLeases(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.request.IDs = args
			switch {
			case o.request.All && len(args) > 0:
				return report.UsageError(command.Program+" fault heal --all", "heal takes leases or --all, not both")
			case !o.request.All && len(args) == 0:
				return report.UsageError(command.Program+" fault leases", "heal needs a LEASE, or --all")
			}
			return runF(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.request.All, "all", false, "heal all there are")
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML, output.Names)
	return cmd
}

func runHeal(ctx context.Context, o *healOptions) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	leases, err := command.Do(ctx, t, func(c *api.Client, ctx context.Context) ([]api.Lease, error) { return c.Heal(ctx, o.request) })
	if err != nil {
		return err
	}
	if o.format != output.Text {
		return output.List(o.streams.Out, output.Flags{Format: o.format}, tables.Leases(o.deps.Now()), leases)
	}
	for _, l := range leases {
		note := "healed"
		if l.Note != "" {
			note = l.Note
		}
		fmt.Fprintf(o.streams.Out, "%s: %s %s\n", l.ID, l.Fault, printable.Line(note))
	}
	if len(leases) == 0 {
		fmt.Fprintln(o.streams.Err, "nothing is broken")
	}
	return nil
}
