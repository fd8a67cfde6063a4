package topology

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/schema"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/graph"
)

// NewCmdTopology returns the group of commands.
func NewCmdTopology(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:     "topology",
		Aliases: []string{"topo"},
		Short:   "List, validate, render, draw, apply and scale topologies",
		Long: `List, validate, render, draw, apply and scale topologies.

A topology is the inventory of the vCenters in YAML: a built-in one, by name, or
a file of your own. Included files are read too, and --set sets parameters.`,
		Example: `  vsphere-sandbox topology list
  vsphere-sandbox topology validate my-topology.yaml
  vsphere-sandbox topology render my-topology.yaml --set workers=5
  vsphere-sandbox topology graph zones-us-eu
  vsphere-sandbox topology apply my-topology.yaml --dry-run
  vsphere-sandbox topology scale worker-west=4
  vsphere-sandbox topology schema > topology.schema.json`,
	}, NewCmdList(d, nil), NewCmdValidate(d, nil), NewCmdRender(d, nil), NewCmdGraph(d, nil), NewCmdApply(d, nil), NewCmdScale(d, nil), schema.NewCmd(d, "topology", topology.Schema))
}

type graphOptions struct {
	streams *iostreams.Streams

	source string
	set    source.Settings
}

// NewCmdGraph returns the command; runF, when not nil, runs in its place.
func NewCmdGraph(d *command.Deps, runF func(*graphOptions) error) *cobra.Command {
	o := &graphOptions{streams: d.Streams}
	cmd := &cobra.Command{
		Use:   "graph [TOPOLOGY | FILE]",
		Short: "Draw a topology as a tree",
		Long: `Draw a topology: vCenters, folders, datacenters, compute clusters, hosts, pools,
datastores, networks and VMs, with their tags. More than three similar objects
are shown as one: worker-001 … worker-100 (100).`,
		Example: `  vsphere-sandbox topology graph zones-us-eu
  vsphere-sandbox topology graph my-topology.yaml --set workers=100`,
		Args:              command.AtMostOne,
		ValidArgsFunction: source.Names(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.source = source.ArgOrDefault(args)
			if runF != nil {
				return runF(o)
			}
			return draw(o)
		},
	}
	o.set.Bind(cmd)
	return cmd
}

func draw(o *graphOptions) error {
	t, err := source.Load("topology graph", o.source, o.set)
	if err != nil {
		return err
	}
	_, err = io.WriteString(o.streams.Out, graph.Tree(graph.Of(t)))
	return err
}

type renderOptions struct {
	streams *iostreams.Streams

	source string
	set    source.Settings
	format string
}

// NewCmdRender returns the command; runF, when not nil, runs in its place.
func NewCmdRender(d *command.Deps, runF func(*renderOptions) error) *cobra.Command {
	o := &renderOptions{streams: d.Streams, format: output.YAML}
	cmd := &cobra.Command{
		Use:   "render [TOPOLOGY | FILE]",
		Short: "Print a topology with all defaults and derived values",
		Long: `Print a topology with includes resolved, parameters and replicas expanded,
defaults set, VMs placed, and every UUID, MAC and IP address derived. The output
is a topology that builds the same inventory.`,
		Example: `  vsphere-sandbox topology render zones-us-eu
  vsphere-sandbox topology render my-topology.yaml --set workers=5 > resolved.yaml
  vsphere-sandbox topology render single -o json`,
		Args:              command.AtMostOne,
		ValidArgsFunction: source.Names(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.source = source.ArgOrDefault(args)
			if runF != nil {
				return runF(o)
			}
			return render(o)
		},
	}
	o.set.Bind(cmd)
	output.BindFormat(cmd, &o.format, output.YAML, output.JSON)
	return cmd
}

func render(o *renderOptions) error {
	t, err := source.Load("topology render", o.source, o.set)
	if err != nil {
		return err
	}
	return source.Write(o.streams.Out, o.format, t)
}

type validateOptions struct {
	streams *iostreams.Streams

	sources []string
	set     source.Settings
	format  string
}

// NewCmdValidate returns the command; runF, when not nil, runs in its place.
func NewCmdValidate(d *command.Deps, runF func(*validateOptions) error) *cobra.Command {
	o := &validateOptions{streams: d.Streams}
	cmd := &cobra.Command{
		Use:   "validate (TOPOLOGY | FILE)...",
		Short: "Check topologies for errors",
		Long: `Check topologies for errors. Each error has its line, the field and, for a
misspelled name, the nearest known one.

With -o json or yaml, errors are printed as data.

Exit status:
  0    all topologies are valid
  2    a topology has errors`,
		Example: `  vsphere-sandbox topology validate my-topology.yaml
  vsphere-sandbox topology validate *.yaml -o json
  vsphere-sandbox topology validate my-topology.yaml --set site=west`,
		Args:              command.AtLeastOne("TOPOLOGY or FILE"),
		ValidArgsFunction: source.Names(0),
		RunE: func(_ *cobra.Command, args []string) error {
			o.sources = args
			if runF != nil {
				return runF(o)
			}
			return validate(o)
		},
	}
	o.set.Bind(cmd)
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	return cmd
}

// validation is what came of one topology.
type validation struct {
	Source string `json:"source"`
	Valid  bool   `json:"valid"`
	// Counts is what a valid one holds.
	Counts *topology.Counts `json:"counts,omitempty"`
	// Problems are what is wrong with another.
	Problems []source.Problem `json:"problems,omitempty"`
}

func validate(o *validateOptions) error {
	var all []validation
	var bad []error
	for _, name := range o.sources {
		t, err := source.Load("topology validate", name, o.set)
		if err != nil {
			bad = append(bad, err)
			all = append(all, validation{Source: name, Problems: source.Problems(err)})
			continue
		}
		counts := t.Count()
		all = append(all, validation{Source: name, Valid: true, Counts: &counts})
	}
	if o.format != output.Text {
		kind := output.Kind[validation]{Name: "Validation"}
		if err := output.List(o.streams.Out, output.Flags{Format: o.format}, kind, all); err != nil {
			return err
		}
		if len(bad) > 0 {
			return report.Exit(report.Usage) // the problems were printed
		}
		return nil
	}
	for _, one := range all {
		if one.Valid {
			fmt.Fprintf(o.streams.Out, "%s can be used: %s\n", one.Source, one.Counts)
		}
	}
	return source.JoinErrors(bad)
}

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
	runF = command.Or(runF, apply)
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
			o.source = source.ArgOrDefault(args)
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
	return send(ctx, o, t, text)
}

// send applies a topology and prints the changes.
func send(ctx context.Context, o *applyOptions, t *command.Target, text []byte) error {
	a := &applying{o: o}
	err := t.Client.Apply(ctx, api.ApplyRequest{Topology: string(text), DryRun: o.dryRun, Prune: o.prune}, a.line)
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
