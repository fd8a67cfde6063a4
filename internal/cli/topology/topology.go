package topology

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/graph"
)

// NewCmdTopology returns the group of commands.
func NewCmdTopology(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:     "topology",
		Aliases: []string{"topo"},
		Short:   "Validate, render, draw and apply topologies",
		Long: `Validate, render, draw and apply topologies.

A topology is the inventory of the vCenters in YAML: a built-in one, by name, or
a file of your own. Included files are read too, and --set sets parameters.`,
		Example: `  vsphere-sandbox topology validate my-topology.yaml
  vsphere-sandbox topology render my-topology.yaml --set workers=5
  vsphere-sandbox topology graph zones-us-eu
  vsphere-sandbox topology apply my-topology.yaml --dry-run
  vsphere-sandbox topology schema > topology.schema.json`,
	}, NewCmdValidate(d, nil), NewCmdRender(d, nil), NewCmdGraph(d, nil), NewCmdApply(d, nil), NewCmdSchema(d))
}

type graphOptions struct {
	streams *iostreams.Streams

	source string
	set    source.Settings
	format string
}

// The formats of graphs.
const (
	tree    = "tree"
	dot     = "dot"
	mermaid = "mermaid"
)

func formats() []string { return []string{tree, dot, mermaid} }

// NewCmdGraph returns the command; runF, when not nil, runs in its place.
func NewCmdGraph(d *command.Deps, runF func(*graphOptions) error) *cobra.Command {
	o := &graphOptions{streams: d.Streams}
	cmd := &cobra.Command{
		Use:   "graph [TOPOLOGY | FILE]",
		Short: "Draw a topology as a tree, or for Graphviz or Mermaid",
		Long: `Draw a topology: vCenters, folders, datacenters, compute clusters, hosts, pools,
datastores, networks and VMs, with their tags. More than three similar objects
are shown as one: worker-001 … worker-100 (100).`,
		Example: `  vsphere-sandbox topology graph zones-us-eu
  vsphere-sandbox topology graph my-topology.yaml --format dot | dot -Tsvg > my-topology.svg
  vsphere-sandbox topology graph my-topology.yaml --format mermaid`,
		Args:              command.AtMostOne,
		ValidArgsFunction: source.Names(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.source = source.Or(args)
			if err := o.validate(); err != nil {
				return err
			}
			if runF != nil {
				return runF(o)
			}
			return draw(o)
		},
	}
	o.set.Bind(cmd)
	cmd.Flags().StringVar(&o.format, "format", tree, "output `FORMAT`: "+strings.Join(formats(), ", "))
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *graphOptions) validate() error {
	if slices.Contains(formats(), o.format) {
		return nil
	}
	try := "--format " + strings.Join(formats(), "|")
	if guess := nearest.Of(o.format, formats()); guess != "" {
		try = "--format " + guess
	}
	return report.UsageError(try, "there is no graph format %q", o.format)
}

func draw(o *graphOptions) error {
	t, err := source.Load("topology graph", o.source, o.set)
	if err != nil {
		return err
	}
	root := graph.Of(t)
	text := graph.Tree(root)
	switch o.format {
	case dot:
		text = graph.DOT(root)
	case mermaid:
		text = graph.Mermaid(root)
	}
	_, err = io.WriteString(o.streams.Out, text)
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
			o.source = source.Or(args)
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

// NewCmdSchema returns the command.
func NewCmdSchema(d *command.Deps) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of topology files",
		Long: `Print the JSON schema of topology files. Editors with a YAML language server
use it for completion and help when a file begins with

  # yaml-language-server: $schema=topology.schema.json`,
		Example:           `  vsphere-sandbox topology schema > topology.schema.json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(*cobra.Command, []string) error {
			_, err := d.Streams.Out.Write(topology.Schema())
			return err
		},
	}
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
		Args:              command.AtLeastOne("SCENARIO or FILE"),
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
	return source.Joined(bad)
}
