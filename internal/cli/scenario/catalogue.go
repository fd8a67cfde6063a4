package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

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
		Try: "vsphere-sandbox scenario show lifecycle/power-off   # a scenario that works",
	}, bad}
}

// invalid is told as its first part, which has the text of all the second has one by one.
type invalid struct {
	told     *report.Error
	problems topology.Errors
}

func (e *invalid) Error() string { return e.told.Error() }

func (e *invalid) Unwrap() []error { return []error{e.told, e.problems} }

// completeWords completes what scenarios can be chosen by, and files.
func (c catalogue) completeWords(most int) complete.Func {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var words []string
		for _, w := range c.words() {
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
