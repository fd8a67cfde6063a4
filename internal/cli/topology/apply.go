package topology

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

type applyOptions struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)

	source string
	set    source.Settings
	format string
	dryRun bool
	prune  bool
}

// NewCmdApply returns the command; runF, when not nil, runs in its place.
func NewCmdApply(d *command.Deps, runF func(context.Context, *applyOptions) error) *cobra.Command {
	o := &applyOptions{streams: d.Streams, connect: d.Connect, format: output.Plain}
	if runF == nil {
		runF = apply
	}
	cmd := &cobra.Command{
		Use:   "apply [TOPOLOGY | FILE]",
		Short: "Change a running sandbox to match a topology",
		Long: `Change a running sandbox to match a topology: create, change and remove objects
through the vSphere API, one step after the other. VMs that become nodes join
the cluster, and new datacenters are added to the cloud config.

Objects that the topology does not name are kept unless they were in the
previous topology or --prune is given. These are, for example, volumes and VMs
that a user created.

VMs are powered off where vSphere requires it; --dry-run shows which. If the
topology changes what a running vCenter cannot change (vCenters themselves, the
size of a host or datastore, users), the command reports it and changes nothing.

Ctrl-C stops it after the current step.`,
		Example: `  vsphere-sandbox topology apply my-topology.yaml --dry-run
  vsphere-sandbox topology apply my-topology.yaml
  vsphere-sandbox topology apply my-topology.yaml --set workers=5`,
		Args:              command.AtMostOne,
		ValidArgsFunction: source.Names(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.source = source.Or(args)
			return runF(cmd.Context(), o)
		},
	}
	o.set.Bind(cmd)
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the changes without making them")
	cmd.Flags().BoolVar(&o.prune, "prune", false, "remove all objects that the topology does not name")
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

func apply(ctx context.Context, o *applyOptions) error {
	top, err := source.Load("topology apply", o.source, o.set)
	if err != nil {
		return err
	}
	text, err := topology.Marshal(top)
	if err != nil {
		return err
	}
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	a := &applying{o: o}
	err = t.Client.Apply(ctx, api.ApplyRequest{Topology: string(text), DryRun: o.dryRun, Prune: o.prune}, a.line)
	if err != nil {
		err = t.Explain(ctx, err, 0) // it may take as long as it takes
	}
	return a.end(ctx, err)
}

// applying prints changes as they are done or, for programs, all of them at the end.
type applying struct {
	o       *applyOptions
	changes []api.Change
	known   bool // the changes are
	done    int
}

func (a *applying) line(l api.ApplyLine) error {
	if !a.known {
		a.changes, a.known = l.Changes, true
	}
	for ; a.done < min(l.Done, len(a.changes)); a.done++ {
		if a.text() {
			if _, err := fmt.Fprintln(a.o.streams.Out, printable.Line(sentence(a.changes[a.done]))); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *applying) text() bool { return a.o.format == output.Plain }

// end prints the rest, also what was done before an error.
func (a *applying) end(ctx context.Context, err error) error {
	if !a.known {
		return err
	}
	listed := a.changes
	if !a.o.dryRun {
		listed = a.changes[:a.done]
	}
	if !a.text() {
		if werr := output.List(a.o.streams.Out, output.Flags{Format: a.o.format}, changeKind(), listed); werr != nil {
			return werr
		}
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(a.o.streams.Err, "stopped after %d of %d changes and the one in progress; apply it again to continue\n", a.done, len(a.changes))
		return ctx.Err()
	case err != nil || !a.text():
		return err
	case len(a.changes) == 0:
		fmt.Fprintln(a.o.streams.Err, "no changes")
	case a.o.dryRun:
		if err := output.List(a.o.streams.Out, output.Flags{Format: a.o.format}, changeKind(), listed); err != nil {
			return err
		}
		fmt.Fprintf(a.o.streams.Err, "%s planned, none made\n", changes(len(listed)))
	default:
		fmt.Fprintf(a.o.streams.Err, "%s done\n", changes(a.done))
	}
	return nil
}

func changes(n int) string {
	if n == 1 {
		return "1 change"
	}
	return fmt.Sprintf("%d changes", n)
}

// sentence is a change that is done.
func sentence(c api.Change) string {
	text := c.Op + "d " + c.Kind + " " + object(c) // created, changed, removed
	if c.What != "" {
		text += ": " + c.What
	}
	return text
}

func object(c api.Change) string { return c.VCenter + "/" + strings.TrimPrefix(c.Path, "/") }

func changeKind() output.Kind[api.Change] {
	return output.Kind[api.Change]{
		Name: "Change",
		Columns: []output.Column[api.Change]{
			{Header: "CHANGE", Value: func(c api.Change) string { return c.Op }},
			{Header: "KIND", Value: func(c api.Change) string { return c.Kind }},
			{Header: "OBJECT", Value: object},
			{Header: "WHAT", Value: func(c api.Change) string { return c.What }},
		},
		Ref: func(c api.Change) string { return strings.ToLower(c.Kind) + "/" + object(c) },
	}
}
