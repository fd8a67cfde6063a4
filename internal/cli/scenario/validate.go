package scenario

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
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
		Short: "Find everything that is wrong with scenarios",
		Long: `Find everything that is wrong with scenarios, without a sandbox: each error with
its line, the field and, where one is near, the name that was probably meant.
Faults, their parameters, and names of VMs and nodes are checked, too.

With -o json or yaml, what is wrong is data on standard output.

Exit status: 0 when all can be used, 2 when one cannot.`,
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
	Source   string    `json:"source"`
	Valid    bool      `json:"valid"`
	Steps    int       `json:"steps,omitempty"`
	Problems []problem `json:"problems,omitempty"`
}

// problem is something wrong in a scenario, or with getting at it: then there is only a message.
type problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func validate(o *validateOptions) error {
	var all []validation
	var bad []error
	for _, name := range o.names {
		s, err := o.catalogue.one("validate", name, o.set)
		if err != nil {
			bad = append(bad, err)
			all = append(all, validation{Source: name, Problems: problems(err)})
			continue
		}
		all = append(all, validation{Source: name, Valid: true, Steps: len(s.Steps)})
	}
	if o.format != output.Text {
		if err := output.List(o.streams.Out, output.Flags{Format: o.format}, output.Kind[validation]{Name: "Validation"}, all); err != nil {
			return err
		}
		if len(bad) > 0 {
			return report.Exit(report.Usage) // it has been told
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
		}
	}
	return joined(bad)
}

// joined is one error for those of several scenarios.
func joined(bad []error) error {
	if len(bad) < 2 {
		return errors.Join(bad...)
	}
	var messages []string
	for _, err := range bad {
		messages = append(messages, report.Of(err).Message)
	}
	first := report.Of(bad[0])
	return &report.Error{Code: first.Code, Message: strings.Join(messages, "\n"), Try: first.Try, Exit: report.Usage}
}

func problems(err error) []problem {
	var bad topology.Errors
	if !errors.As(err, &bad) {
		return []problem{{Message: report.Of(err).Message}}
	}
	all := make([]problem, len(bad))
	for i, one := range bad {
		all[i] = problem(one)
	}
	return all
}
