package topology

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

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
		Use:   "validate (SCENARIO | FILE)...",
		Short: "Find everything that is wrong with topologies",
		Long: `Find everything that is wrong with topologies: each error with its line, the
field and, where one is near, the name that was probably meant.

With -o json or yaml, what is wrong is data on standard output.

Exit status: 0 when all can be used, 2 when one cannot.`,
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
			return report.Exit(report.Usage) // it has been told
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
