package status

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

type options struct {
	streams *iostreams.Streams
	now     func() time.Time
	find    func(context.Context) (command.Sandbox, error)
	ask     func(context.Context) (api.Status, error)

	format string
}

// NewCmdStatus returns the command; runF, when not nil, runs in its place.
func NewCmdStatus(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, now: d.Now, find: d.Find, ask: func(ctx context.Context) (api.Status, error) {
		return command.AskIt(ctx, d, (*api.Client).Status)
	}}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell how a sandbox is: phase, vCenters, nodes, components",
		Long: `Tell how a sandbox is: its phase, vCenters, nodes and components.

A sandbox is in good health when it has booted, every node that its topology
wants is registered, initialized and ready, every component runs, and every
vCenter can be reached. Otherwise the command says what is wrong and ends with
exit status 3, also when the trouble was made on purpose.

Of a sandbox that crashed it says what ended it and where its logs, events and
recording are kept until "down"; that is exit status 3, too.`,
		Example: `  vsphere-sandbox status
  vsphere-sandbox status --name other -o json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), o)
			}
			return run(cmd.Context(), o)
		},
	}
	output.BindFormat(cmd, &o.format, output.Plain, output.Wide, output.JSON, output.YAML, output.Names)
	return cmd
}

func run(ctx context.Context, o *options) error {
	if found, err := o.find(ctx); err != nil {
		return err
	} else if !found.Running {
		if err := printEnded(o.streams.Out, o.format, o.now(), found); err != nil {
			return err
		}
		err := found.NotRunning(report.Degraded)
		if e := (*report.Error)(nil); errors.As(err, &e) {
			e.Err = nil // it has been printed
		}
		return err
	}
	s, err := o.ask(ctx)
	if err != nil {
		return err
	}
	if err := print(o.streams.Out, o.format, o.now(), s); err != nil {
		return err
	}
	if p := problems(s); len(p) > 0 {
		return degraded(p)
	}
	return nil
}

func degraded(problems []string) error {
	e := &report.Error{Code: "degraded", Exit: report.Degraded}
	for i, p := range problems {
		if i > 0 {
			e.Message += "; "
		}
		e.Message += p
	}
	e.Try = command.Program + " events"
	return e
}
