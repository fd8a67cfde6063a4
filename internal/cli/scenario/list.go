package scenario

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

type listOptions struct {
	streams   *iostreams.Streams
	catalogue catalogue

	theme string
	suite string
	flags output.Flags
}

// NewCmdList returns the command; runF, when not nil, runs in its place.
func NewCmdList(d *command.Deps, runF func(*listOptions) error) *cobra.Command {
	o := &listOptions{streams: d.Streams, catalogue: own()}
	if runF == nil {
		runF = list
	}
	cmd := &cobra.Command{
		Use:   "list [THEME]",
		Short: "List the scenarios that come with the program",
		Long: `List the scenarios that come with the program, by theme. With -o wide, also the
places where people have met what they are about.`,
		Example: `  vsphere-sandbox scenario list
  vsphere-sandbox scenario list outages -o wide
  vsphere-sandbox scenario list --suite core -o name`,
		Args:              command.AtMostOne,
		ValidArgsFunction: o.catalogue.completeThemes,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.theme = args[0]
			}
			return runF(o)
		},
	}
	o.flags.Bind(cmd)
	cmd.Flags().StringVar(&o.suite, "suite", "", "only those of this `SUITE`")
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("suite", cobra.FixedCompletions([]string{"core"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// listed is a line of the list.
type listed struct {
	Name        string   `json:"name"`
	Theme       string   `json:"theme"`
	Suites      []string `json:"suites,omitempty"`
	Description string   `json:"description,omitempty"`
	Topology    string   `json:"topology,omitempty"`
	Steps       int      `json:"steps"`
	Reported    []string `json:"reported,omitempty"`
}

func list(o *listOptions) error {
	var all []listed
	var bad []error // what cannot be used does not keep the rest from being listed
	for _, e := range o.catalogue.entries() {
		if o.theme != "" && e.theme != o.theme {
			continue
		}
		s, err := o.catalogue.load(e, nil)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		if o.suite == "" || inSuite(s, o.suite) {
			all = append(all, listing(s))
		}
	}
	if len(all) == 0 && len(bad) == 0 {
		if o.theme != "" && len(o.catalogue.find(o.theme)) == 0 {
			try := "vsphere-sandbox scenario list"
			if near := nearest.Of(o.theme, o.catalogue.themes()); near != "" {
				try += " " + near
			}
			return report.UsageError(try, "there is no theme %q", o.theme)
		}
		fmt.Fprintln(o.streams.Err, "no scenarios")
	}
	if err := output.List(o.streams.Out, o.flags, kind(), all); err != nil {
		return err
	}
	return source.Joined(bad)
}

func listing(s *scenario.Scenario) listed {
	return listed{
		Name: s.Metadata.Name, Theme: s.Theme, Suites: suites(s), Description: s.Metadata.Description, Topology: s.Topology.Use,
		Steps: len(s.Steps), Reported: s.Reported,
	}
}

// suites are those that a scenario is of: its label suite, which may name several.
func suites(s *scenario.Scenario) []string {
	return strings.FieldsFunc(s.Metadata.Labels["suite"], func(r rune) bool { return r == ',' || r == ' ' })
}

func kind() output.Kind[listed] {
	type column = output.Column[listed]
	return output.Kind[listed]{
		Name: "Scenario",
		Ref:  func(l listed) string { return "scenario/" + l.Name },
		Columns: []column{
			{Header: "THEME", Value: func(l listed) string { return l.Theme }},
			{Header: "NAME", Value: func(l listed) string { return l.Name }},
			{Header: "SUITE", Value: func(l listed) string { return output.Join(l.Suites) }},
			{Header: "TOPOLOGY", Wide: true, Value: func(l listed) string { return l.Topology }},
			{Header: "REPORTED", Wide: true, Value: func(l listed) string { return output.Join(l.Reported) }},
			{Header: "DESCRIPTION", Value: func(l listed) string { return l.Description }},
		},
	}
}
