package down

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	saved "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/snapshot"
)

// NewCmdStop returns the command; runF, when not nil, runs in its place.
func NewCmdStop(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{Deps: d}
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Save a sandbox and end its processes",
		Long: `Save a sandbox and end its processes, for "start". Its objects, VMs, volumes and
data outlive a reboot of the machine. "list" shows it as stopped; "down" deletes
it.

Active faults must be healed first. If the sandbox cannot be saved, it keeps
running.`,
		Example: `  vsphere-sandbox stop
  vsphere-sandbox stop --name lab
  vsphere-sandbox start --name lab`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return command.Or(runF, stop)(cmd.Context(), o)
		},
	}
	cmd.Flags().DurationVar(&o.timeout, "timeout", 30*time.Second, "time to wait before the sandbox, which is saved, is killed")
	return cmd
}

func stop(ctx context.Context, o *options) error {
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	t, err := o.Connect(ctx)
	if err != nil {
		return err
	}
	s, err := t.Client.SaveSnapshot(ctx, api.SaveRequest{Name: saved.Stopped, Replace: true})
	if err != nil {
		return snapshot.Explain(t.Explain(ctx, err, 0))
	}
	fmt.Fprintf(o.Streams.Err, "sandbox %q: saved: %d nodes, %d VMs, %d volumes, %d objects\n", t.Name, s.Nodes, s.VMs, s.Volumes, s.Objects)
	gone, err := ask(ctx, o, root, t.Sandbox)
	if err != nil {
		return err
	}
	if !gone || remains(root, t.Name) {
		if err := end(ctx, o, root, command.Sandbox{Name: t.Name}); err != nil {
			return err
		}
	}
	fmt.Fprintf(o.Streams.Err, "sandbox %q: stopped\ntry: vsphere-sandbox start --name %[1]s\n", t.Name)
	return nil
}
