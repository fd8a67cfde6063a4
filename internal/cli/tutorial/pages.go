package tutorial

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial/guide"
	"github.com/vsphere-sandbox/vsphere-sandbox/tutorials"
)

// ShelfEnv is the environment variable that says where the worlds of tutorials are kept, so that in the world of one, where
// sandboxes are kept elsewhere, its own commands still find it.
const ShelfEnv = "VSPHERE_SANDBOX_TUTORIALS"

// pages are all that the program has in it.
func pages() ([]*tutorial.Page, error) { return tutorial.Pages(tutorials.FS(), "tutorials") }

// shelf is where worlds are kept: beside the sandboxes.
func shelf(d *command.Deps) (guide.Shelf, error) {
	if dir := d.Getenv(ShelfEnv); dir != "" {
		dir, err := filepath.Abs(dir)
		return guide.Shelf{Dir: dir}, err
	}
	root, err := d.Sandboxes.Root()
	return guide.Shelf{Dir: root + "-tutorials"}, err
}

var number = regexp.MustCompile(`^0?[0-9]+$`)

// pick returns the page that is meant by a number, a name with its number or without, or by how one of these begins.
func pick(all []*tutorial.Page, asked string) (*tutorial.Page, error) {
	word := strings.ToLower(strings.TrimSuffix(asked, "/"))
	var begun []*tutorial.Page
	var names []string
	for _, p := range all {
		no, bare, _ := strings.Cut(p.Name, "-")
		switch {
		case word == p.Name, word == bare, number.MatchString(word) && strings.TrimLeft(word, "0") == strings.TrimLeft(no, "0"):
			return p, nil
		case !number.MatchString(word) && word != "" && (strings.HasPrefix(p.Name, word) || strings.HasPrefix(bare, word)):
			begun = append(begun, p)
		}
		names = append(names, p.Name, bare)
	}
	if len(begun) == 1 {
		return begun[0], nil
	}
	if len(begun) > 1 {
		var some []string
		for _, p := range begun {
			some = append(some, p.Name)
		}
		return nil, report.UsageError(command.Program+" tutorial start "+some[0], "%q may be %s", asked, strings.Join(some, " or "))
	}
	try := command.Program + " tutorial list"
	if guess := nearest.Of(word, names); guess != "" {
		try = command.Program + " tutorial start " + guess
	}
	return nil, report.UsageError(try, "there is no tutorial %q", asked)
}

// begun returns the page that is meant, or the only one that has been begun when none is named.
func begun(shelf guide.Shelf, args []string) (*tutorial.Page, error) {
	all, err := pages()
	if err != nil {
		return nil, err
	}
	if len(args) > 0 {
		return pick(all, args[0])
	}
	var found []*tutorial.Page
	for _, p := range all {
		if place, err := shelf.Place(p); place != nil || err != nil {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return nil, &report.Error{Code: "no-tutorial", Message: "no tutorial has been begun", Try: command.Program + " tutorial list"}
	case 1:
		return found[0], nil
	}
	return nil, report.UsageError(fmt.Sprintf("name one, such as %s", found[0].Name), "several tutorials have been begun")
}

// names completes tutorials.
func names(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	all, err := pages()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var found []string
	for _, p := range all {
		found = append(found, p.Name+"\t"+p.Title)
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func complete1() complete.Func { return complete.Once(names) }
