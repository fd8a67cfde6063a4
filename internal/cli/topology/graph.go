package topology

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/graph"
)

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
		Use:   "graph [SCENARIO | FILE]",
		Short: "Draw a topology, as a tree or for Graphviz or Mermaid",
		Long: `Draw a topology: its vCenters, folders, datacenters, compute clusters, hosts,
pools, datastores, networks and VMs, with their tags. More than three objects
that are alike are one: worker-001 … worker-100 (100).`,
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
	cmd.Flags().StringVar(&o.format, "format", tree, "`FORMAT` to draw it in: "+strings.Join(formats(), ", "))
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
