package events

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

type options struct {
	streams *iostreams.Streams
	now     func() time.Time
	connect func(context.Context) (*command.Target, error)

	follow bool
	filter filter
	flags  output.Flags
}

// NewCmdEvents returns the command; runF, when not nil, runs in its place.
func NewCmdEvents(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, now: d.Now, connect: d.Connect}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Show what happened in the sandbox, vSphere and Kubernetes, in order",
		Long: `Show what happened in a sandbox, in one order: changes in the vSphere inventory,
in Kubernetes and in the sandbox itself.

With -o wide, each event has its number and that of the event that caused it.
The sandbox keeps the newest 65536 events; the output says when older ones were
dropped.`,
		Example: `  vsphere-sandbox events --since 5m
  vsphere-sandbox events -f --object worker-west-1
  vsphere-sandbox events --plane vsphere --kind 'vm.*' -o json
  vsphere-sandbox events export run.jsonl`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return command.UnknownCommand(cmd, args[0])
		},
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.filter.validate(); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	o.flags.Bind(cmd)
	f := cmd.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "keep printing new events")
	f.DurationVar(&o.filter.since, "since", 0, "only events not older than this (5m, 1h)")
	f.StringSliceVar(&o.filter.kinds, "kind", nil, "only events of these `KIND`s; * and ? are wildcards")
	f.StringVar(&o.filter.object, "object", "", "only events about this `OBJECT`: NAME, NAMESPACE/NAME or KIND/NAME")
	f.StringVar(&o.filter.plane, "plane", "", "only events of this plane: sandbox, vsphere or kubernetes")
	// Cannot fail: the flags were added in the lines above.
	_ = cmd.RegisterFlagCompletionFunc("plane", cobra.FixedCompletions(planes(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("object", complete.Flag(complete.VMs(d)))
	cmd.AddCommand(NewCmdExport(d, nil))
	return cmd
}

func run(ctx context.Context, o *options) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	// First what there is, so that its table is aligned as a whole.
	var past []api.EventLine
	var last, lost uint64
	matches := o.filter.matcher(o.now())
	_, err = command.Ask(ctx, t, func(c *api.Client, ctx context.Context) (struct{}, error) {
		return struct{}{}, c.Events(ctx, 0, false, func(e event.Event, gone uint64) error {
			last, lost = e.Seq, lost+gone
			if matches(e) {
				past = append(past, api.EventLine{Event: e, Lost: lost})
				lost = 0
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	p := newPrinter(o)
	if !o.follow {
		return p.all(past)
	}
	if err := p.some(past...); err != nil {
		return err
	}
	err = t.Client.Events(ctx, last, true, func(e event.Event, gone uint64) error {
		lost += gone
		if !matches(e) {
			return nil
		}
		line := api.EventLine{Event: e, Lost: lost}
		lost = 0
		return p.some(line)
	})
	if err != nil {
		return t.Explain(ctx, err, command.AnswerTime)
	}
	fmt.Fprintf(o.streams.Err, "sandbox %q ended\n", t.Name)
	return nil
}
