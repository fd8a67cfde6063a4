package scenario

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

type validateOptions struct {
	streams   *iostreams.Streams
	catalogue catalogue

	names  []string
	set    source.Settings
	format string
}

// NewCmdValidate returns the command; runF, when not nil, runs in its place.
func NewCmdValidate(d *command.Deps, runF func(*validateOptions) error) *cobra.Command {
	o := &validateOptions{streams: d.Streams, catalogue: own()}
	if runF == nil {
		runF = validate
	}
	cmd := &cobra.Command{
		Use:   "validate (NAME | FILE)...",
		Short: "Check scenarios for errors",
		Long: `Check scenarios for errors, without a sandbox. Each error has its line, the
field and, for a misspelled name, the nearest known one. Faults, their
parameters, and names of VMs and nodes are checked too.

Steps that need --trust to run, because they do more than inject faults and read
the sandbox, are listed. They are not errors.

With -o json or yaml, errors are printed as data.

Exit status:
  0    all scenarios are valid
  2    a scenario has errors`,
		Example: `  vsphere-sandbox scenario validate mine.yaml
  vsphere-sandbox scenario validate *.yaml -o json`,
		Args:              command.AtLeastOne("NAME or FILE"),
		ValidArgsFunction: o.catalogue.completeWords(0),
		RunE: func(_ *cobra.Command, args []string) error {
			o.names = args
			return runF(o)
		},
	}
	o.set.Bind(cmd)
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	return cmd
}

// validation is what came of one scenario.
type validation struct {
	Source   string           `json:"source"`
	Valid    bool             `json:"valid"`
	Steps    int              `json:"steps,omitempty"`
	Problems []source.Problem `json:"problems,omitempty"`
	// NeedsTrust is what "scenario run" asks about: what the scenario does beyond faults in its sandbox and reading it.
	NeedsTrust []scenario.Reach `json:"needsTrust,omitempty"`
}

func validate(o *validateOptions) error {
	var all []validation
	var bad []error
	for _, name := range o.names {
		s, err := o.catalogue.one("validate", name, o.set)
		if err != nil {
			bad = append(bad, err)
			all = append(all, validation{Source: name, Problems: source.Problems(err)})
			continue
		}
		all = append(all, validation{Source: name, Valid: true, Steps: len(s.Steps), NeedsTrust: s.Reaches()})
	}
	if o.format != output.Text {
		if err := output.List(o.streams.Out, output.Flags{Format: o.format}, output.Kind[validation]{Name: "Validation"}, all); err != nil {
			return err
		}
		if len(bad) > 0 {
			return report.Exit(report.Usage) // the problems were printed
		}
		return nil
	}
	for _, one := range all {
		if one.Valid {
			steps := "steps"
			if one.Steps == 1 {
				steps = "step"
			}
			fmt.Fprintf(o.streams.Out, "%s can be used: %d %s\n", one.Source, one.Steps, steps)
			writeReaches(o.streams.Out, one.Source, one.NeedsTrust)
		}
	}
	return source.JoinErrors(bad)
}

// writeReaches writes what a scenario needs trust for, if it does.
func writeReaches(w io.Writer, name string, reaches []scenario.Reach) {
	if len(reaches) == 0 {
		return
	}
	fmt.Fprintf(w, "%s needs --trust to be run, for what it does beyond faults in its sandbox:\n", printable.Line(name))
	for _, r := range reaches {
		fmt.Fprintf(w, "  %s\n", printable.Line(name+":"+r.String()))
	}
}

type showOptions struct {
	streams   *iostreams.Streams
	catalogue catalogue

	name string
}

// NewCmdShow returns the command; runF, when not nil, runs in its place.
func NewCmdShow(d *command.Deps, runF func(*showOptions) error) *cobra.Command {
	o := &showOptions{streams: d.Streams, catalogue: own()}
	if runF == nil {
		runF = show
	}
	return &cobra.Command{
		Use:   "show (NAME | FILE)",
		Short: "Print the source of a scenario",
		Long:  `Print the source of a scenario with its comments, as a start for your own.`,
		Example: `  vsphere-sandbox scenario show power-off
  vsphere-sandbox scenario show power-off > mine.yaml`,
		Args:              command.ExactlyOne("NAME or FILE"),
		ValidArgsFunction: o.catalogue.completeWords(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.name = args[0]
			return runF(o)
		},
	}
}

func show(o *showOptions) error {
	b, err := o.catalogue.read(o.name)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintf(o.streams.Out, "%s", b); err != nil {
		return err
	}
	// One with mistakes in it is shown all the same.
	if s, err := o.catalogue.one("show", o.name, nil); err == nil {
		writeReaches(o.streams.Err, o.name, s.Reaches())
	}
	return nil
}
