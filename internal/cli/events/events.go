package events

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
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
	runF = command.Or(runF, run)
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
	_ = cmd.RegisterFlagCompletionFunc("kind", complete.Flag(complete.EventKinds(d)))
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

func planes() []string {
	return []string{string(event.PlaneSandbox), string(event.PlaneVSphere), string(event.PlaneKubernetes)}
}

// filter chooses events. The zero value lets all through.
type filter struct {
	since  time.Duration
	kinds  []string
	object string
	plane  string
}

func (f *filter) validate() error {
	if f.since < 0 {
		return report.UsageError("--since 5m", "--since %s is in the future", f.since)
	}
	if f.plane != "" && !slices.Contains(planes(), f.plane) {
		try := "--plane " + strings.Join(planes(), "|")
		if guess := nearest.Of(f.plane, planes()); guess != "" {
			try = "--plane " + guess
		}
		return report.UsageError(try, "unknown plane %q", f.plane)
	}
	return nil
}

// matcher returns the test of a valid filter; now is what since counts from.
func (f *filter) matcher(now time.Time) func(event.Event) bool {
	oldest := time.Time{}
	if f.since > 0 {
		oldest = now.Add(-f.since)
	}
	return func(e event.Event) bool {
		return !e.Time.Before(oldest) &&
			(f.plane == "" || string(e.Plane) == f.plane) &&
			(f.object == "" || named(e.Object, f.object)) &&
			(len(f.kinds) == 0 || slices.ContainsFunc(f.kinds, func(k string) bool { return glob.Match(k, e.Kind) }))
	}
}

// named reports whether an object goes by name: NAME, KIND/NAME or VCENTER/NAME; what is in a namespace also without it.
func named(o event.Object, name string) bool {
	if goesBy(o, name) {
		return true
	}
	scope, rest, found := strings.Cut(name, "/")
	return found && goesBy(o, rest) && (strings.EqualFold(scope, o.Kind) || scope == o.VCenter)
}

func goesBy(o event.Object, name string) bool {
	_, bare, namespaced := strings.Cut(o.Name, "/")
	return o.Name == name || namespaced && bare == name
}

// printer prints events, all at once or as they come.
type printer struct {
	streams *iostreams.Streams
	flags   output.Flags
	kind    output.Kind[api.EventLine]
	stream  *output.Stream[api.EventLine]
}

func newPrinter(o *options) *printer {
	k := kind(o.now().Location())
	return &printer{o.streams, o.flags, k, output.NewStream(o.streams.Out, o.flags, k)}
}

// all prints a complete list.
func (p *printer) all(lines []api.EventLine) error {
	if len(lines) == 0 {
		fmt.Fprintln(p.streams.Err, "no events")
	}
	p.reportLoss(lines)
	return output.List(p.streams.Out, p.flags, p.kind, lines)
}

// some prints a part of an endless list.
func (p *printer) some(lines ...api.EventLine) error {
	p.reportLoss(lines)
	return p.stream.Print(lines...)
}

// reportLoss says what programs find in the lines themselves.
func (p *printer) reportLoss(lines []api.EventLine) {
	if p.flags.Format == output.JSON || p.flags.Format == output.YAML {
		return
	}
	for _, line := range lines {
		if line.Lost > 0 {
			fmt.Fprintf(p.streams.Err, "%d events before number %d are lost\n", line.Lost, line.Seq)
		}
	}
}

func kind(zone *time.Location) output.Kind[api.EventLine] {
	type column = output.Column[api.EventLine]
	return output.Kind[api.EventLine]{
		Name: "Event",
		Ref:  func(e api.EventLine) string { return "event/" + number(e.Seq) },
		Columns: []column{
			{Header: "SEQ", Wide: true, Value: func(e api.EventLine) string { return number(e.Seq) }},
			{Header: "TIME", Value: func(e api.EventLine) string { return e.Time.In(zone).Format("15:04:05.000") }},
			{Header: "PLANE", Value: func(e api.EventLine) string { return string(e.Plane) }},
			{Header: "LEVEL", Wide: true, Value: func(e api.EventLine) string { return string(e.Level) }},
			{Header: "KIND", Value: func(e api.EventLine) string { return e.Kind }},
			{Header: "OBJECT", Value: func(e api.EventLine) string { return object(e.Object) }},
			{Header: "CAUSE", Wide: true, Value: func(e api.EventLine) string { return number(e.Cause) }},
			{Header: "MESSAGE", Value: func(e api.EventLine) string { return e.Message }},
		},
	}
}

func number(seq uint64) string {
	if seq == 0 {
		return ""
	}
	return strconv.FormatUint(seq, 10)
}

// object writes an object as Kind/name, with its vCenter where it has one.
func object(o event.Object) string {
	name := o.Name
	if o.VCenter != "" && o.VCenter != name {
		name = o.VCenter + "/" + name
	}
	if o.Kind == "" {
		return name
	}
	return o.Kind + "/" + name
}
