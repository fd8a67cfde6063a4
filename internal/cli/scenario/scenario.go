package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/schema"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// NewCmdScenario returns the group of commands.
func NewCmdScenario(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "scenario",
		Short: "Run, record and validate scenarios",
		Long: `Run, record and validate scenarios. A scenario is a topology, faults that are
injected into it, and what must happen, or must not happen, after each of them.

Scenarios are built in, sorted by theme, or are files of your own.`,
		Example: `  vsphere-sandbox scenario list
  vsphere-sandbox scenario run --suite core
  vsphere-sandbox scenario run lifecycle --artifacts results
  vsphere-sandbox scenario run mine.yaml --set workers=3`,
	},
		NewCmdList(d, nil), NewCmdShow(d, nil), NewCmdRun(d, nil), NewCmdValidate(d, nil), NewCmdRecord(d, nil), schema.NewCmd(d, "scenario", scenario.Schema))
}

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
		Short: "List the built-in scenarios",
		Long: `List the built-in scenarios by theme. With -o wide, also list the issues that
they reproduce.`,
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
	cmd.Flags().StringVar(&o.suite, "suite", "", "only scenarios of this `SUITE`")
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
			return report.UsageError(try, "theme %q not found", o.theme)
		}
		fmt.Fprintln(o.streams.Err, "no scenarios")
	}
	if err := output.List(o.streams.Out, o.flags, kind(), all); err != nil {
		return err
	}
	return source.JoinErrors(bad)
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
			{Header: "DESCRIPTION", Cut: true, Value: func(l listed) string { return l.Description }},
		},
	}
}

// choice selects the scenarios to run.
type choice struct {
	words []string // names, themes, files
	suite string
	all   bool
}

func (c choice) validate() error {
	given := 0
	for _, is := range []bool{len(c.words) > 0, c.suite != "", c.all} {
		if is {
			given++
		}
	}
	switch given {
	case 0:
		return report.UsageError("vsphere-sandbox scenario run --suite core", "scenario run needs a NAME, THEME or FILE, --suite, or --all")
	case 1:
		return nil
	}
	return report.UsageError("vsphere-sandbox scenario run --all", "NAME, THEME or FILE, --suite and --all exclude each other")
}

// name is what the run is called.
func (c choice) name() string {
	switch {
	case c.suite != "":
		return c.suite
	case c.all:
		return "all"
	case len(c.words) == 1:
		return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(c.words[0]), ".yaml"), ".yml")
	}
	return "scenarios"
}

// load returns the chosen scenarios in the order of the words, none twice. Settings are for those that have the parameter;
// every setting has to be for one of them.
func (c choice) load(from catalogue, set source.Settings) ([]*scenario.Scenario, error) {
	var list []*scenario.Scenario
	var bad []error
	seen := map[string]bool{}
	add := func(s *scenario.Scenario, err error) {
		switch {
		case err != nil:
			bad = append(bad, err)
		case !seen[s.File]:
			seen[s.File] = true
			list = append(list, s)
		}
	}
	used := map[string]bool{}
	for _, w := range c.words {
		found := from.find(w)
		if len(found) == 0 {
			add(apply(set, used, func(set source.Settings) (*scenario.Scenario, error) {
				s, err := scenario.LoadFile(w, set...)
				if errors.Is(err, fs.ErrNotExist) {
					return nil, from.unknown("run", w, err)
				}
				return s, unusableOf(w, err)
			}))
		}
		for _, e := range found {
			add(apply(set, used, func(set source.Settings) (*scenario.Scenario, error) { return from.load(e, set) }))
		}
	}
	if c.suite != "" || c.all {
		for _, e := range from.entries() {
			s, err := apply(set, used, func(set source.Settings) (*scenario.Scenario, error) { return from.load(e, set) })
			if err != nil || c.all || inSuite(s, c.suite) {
				add(s, err)
			}
		}
	}
	if err := source.JoinErrors(bad); err != nil {
		return nil, err
	}
	for _, one := range set {
		if !used[one.Name] {
			return nil, report.UsageError("vsphere-sandbox scenario show "+c.name(), "--set %s: no scenario that was chosen has such a parameter", one.Name)
		}
	}
	if len(list) == 0 {
		return nil, report.UsageError("vsphere-sandbox scenario list", "there is no scenario in suite %q", c.name())
	}
	return list, nil
}

func inSuite(s *scenario.Scenario, suite string) bool { return slices.Contains(suites(s), suite) }

func unusableOf(name string, err error) error {
	if err == nil {
		return nil
	}
	return unusable(name, err)
}

// apply loads a scenario with those settings that it has parameters for.
func apply(set source.Settings, used map[string]bool, load func(source.Settings) (*scenario.Scenario, error)) (*scenario.Scenario, error) {
	s, err := load(nil)
	if err != nil || len(set) == 0 {
		if err == nil || len(set) == 0 {
			return s, err
		}
		// A parameter that must be given makes it unusable without.
		if s, err := load(set); err == nil {
			return mark(s, set, used), nil
		}
		return nil, err
	}
	fits := slices.DeleteFunc(slices.Clone(set), func(one topology.Setting) bool {
		_, has := s.Values[one.Name]
		return !has
	})
	if len(fits) == 0 {
		return s, nil
	}
	if s, err = load(fits); err != nil {
		return nil, err
	}
	return mark(s, fits, used), nil
}

func mark(s *scenario.Scenario, set source.Settings, used map[string]bool) *scenario.Scenario {
	for _, one := range set {
		used[one.Name] = true
	}
	return s
}

// catalogue are the scenarios that come with the program: THEME/NAME.yaml.
type catalogue struct{ files fs.FS }

// own is the one that is built in.
func own() catalogue { return catalogue{scenarios.FS()} }

// names are their names by theme, both in alphabetical order.
func (c catalogue) entries() []entry {
	paths, err := fs.Glob(c.files, "*/*.yaml")
	if err != nil {
		return nil // the pattern is right
	}
	slices.Sort(paths)
	var all []entry
	for _, p := range paths {
		all = append(all, entry{theme: path.Dir(p), name: strings.TrimSuffix(path.Base(p), ".yaml"), path: p})
	}
	return all
}

// entry is where a scenario of the catalogue is.
type entry struct{ theme, name, path string }

func (c catalogue) themes() []string {
	var all []string
	for _, e := range c.entries() {
		if !slices.Contains(all, e.theme) {
			all = append(all, e.theme)
		}
	}
	return all
}

// words are what the catalogue's scenarios can be chosen by: themes, and names.
func (c catalogue) words() []string {
	words := c.themes()
	for _, e := range c.entries() {
		words = append(words, e.name)
	}
	return words
}

// find returns what a word stands for: a theme, a scenario as NAME or THEME/NAME, or else a file, which is the empty list.
func (c catalogue) find(word string) []entry {
	var found []entry
	for _, e := range c.entries() {
		if e.theme == word || e.name == word || e.theme+"/"+e.name == word {
			found = append(found, e)
		}
	}
	return found
}

// load reads one of the catalogue.
func (c catalogue) load(e entry, set source.Settings) (*scenario.Scenario, error) {
	s, err := scenario.LoadFS(c.files, e.path, set...)
	if err != nil {
		return nil, unusable(e.path, err)
	}
	s.Theme, s.File = e.theme, "scenarios/"+e.path
	return s, nil
}

// read returns a scenario's file as it was written.
func (c catalogue) read(word string) ([]byte, error) {
	if found := c.find(word); len(found) == 1 {
		return fs.ReadFile(c.files, found[0].path)
	}
	b, err := input.File(word, input.MaxFile)
	if err != nil {
		return nil, c.unknown("show", word, fmt.Errorf("scenario %s: %w", word, input.Plain(err)))
	}
	return b, nil
}

// one loads the scenario that a word stands for.
func (c catalogue) one(verb, word string, set source.Settings) (*scenario.Scenario, error) {
	if found := c.find(word); len(found) == 1 {
		return c.load(found[0], set)
	}
	s, err := scenario.LoadFile(word, set...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, c.unknown(verb, word, err)
	}
	if err != nil {
		return nil, unusable(word, err)
	}
	return s, nil
}

// unknown is the error for a word that stands for nothing.
func (c catalogue) unknown(verb, word string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(word, "./"+string(os.PathSeparator)) {
		return &report.Error{Code: "scenario-unreadable", Message: err.Error(), Exit: report.Usage, Try: "vsphere-sandbox scenario list, or name a file that is there"}
	}
	if slices.Contains(scenarios.Names(), word) {
		try := "vsphere-sandbox up " + word
		switch verb {
		case "validate":
			try = "vsphere-sandbox topology validate " + word
		case "show":
			try = "vsphere-sandbox topology render " + word
		}
		return report.UsageError(try, "%q is a topology, not a scenario: scenarios run on it", word)
	}
	try := "vsphere-sandbox scenario list"
	if near := nearest.Of(word, c.words()); near != "" {
		try = "vsphere-sandbox scenario " + verb + " " + near
	}
	return report.UsageError(try, "there is no scenario and no theme %q, and no such file", word)
}

// unusable is the error for a scenario with mistakes in it, or one that cannot be read.
func unusable(name string, err error) error {
	var bad topology.Errors
	if !errors.As(err, &bad) {
		return &report.Error{
			Code: "scenario-unreadable", Message: err.Error(), Exit: report.Usage, Try: "a file that you may read\nvsphere-sandbox scenario list   # those that are built in",
		}
	}
	return &invalid{&report.Error{
		Code: "scenario-invalid", Message: fmt.Sprintf("scenario %s cannot be used\n%v", name, err), Exit: report.Usage,
		Try: advice(name),
	}, bad}
}

// advice returns what to do about a file that is no good scenario: the command that takes it, if it is another kind of file.
func advice(name string) string {
	if data, err := input.File(name, input.MaxFile); err == nil {
		switch use, _ := strict.Recognize(data); use {
		case strict.UseTopology:
			return "vsphere-sandbox up " + name
		case strict.UseCloudConfig:
			return "vsphere-sandbox config validate " + name
		}
	}
	return "vsphere-sandbox scenario show lifecycle/power-off   # a scenario that works"
}

// invalid prints its first part, which has the text of all problems; the second has them one by one.
type invalid struct {
	notified *report.Error
	problems topology.Errors
}

func (e *invalid) Error() string { return e.notified.Error() }

func (e *invalid) Unwrap() []error { return []error{e.notified, e.problems} }

// completeWords completes what scenarios can be chosen by, and files.
func (c catalogue) completeWords(most int) complete.Func {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var words []string
		all := c.words()
		if strings.Contains(typed, "/") { // as reports name them
			for _, e := range c.entries() {
				all = append(all, e.theme+"/"+e.name)
			}
		}
		for _, w := range all {
			if strings.HasPrefix(w, typed) && !slices.Contains(args, w) {
				words = append(words, w)
			}
		}
		return words, cobra.ShellCompDirectiveDefault
	}
}

// completeThemes completes themes.
func (c catalogue) completeThemes(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words := slices.DeleteFunc(c.themes(), func(w string) bool { return !strings.HasPrefix(w, typed) })
	return words, cobra.ShellCompDirectiveNoFileComp
}
