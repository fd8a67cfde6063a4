package tutorial

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial/guide"
	"github.com/vsphere-sandbox/vsphere-sandbox/tutorials"
)

// entry is one line.
type entry struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Minutes int    `json:"minutes"`
	Steps   int    `json:"steps"`
	// Begun reports whether the tutorial is in progress, and Step where.
	Begun bool   `json:"begun"`
	Step  int    `json:"step,omitempty"`
	Dir   string `json:"dir,omitempty"`
}

type listOptions struct {
	streams *iostreams.Streams
	shelf   func() (guide.Shelf, error)

	flags output.Flags
}

// NewCmdList returns the command; runF, when not nil, runs in its place.
func NewCmdList(d *command.Deps, runF func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{streams: d.Streams, shelf: func() (guide.Shelf, error) { return shelf(d) }}
	runF = command.Or(runF, runList)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List tutorials and your progress",
		Long: `List the tutorials, how long each takes, and your progress. A tutorial that is
finished or stopped has left nothing behind.`,
		Example: `  vsphere-sandbox tutorial list
  vsphere-sandbox tutorial list -o json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	o.flags.Bind(cmd)
	return cmd
}

func runList(_ context.Context, o *listOptions) error {
	all, err := pages()
	if err != nil {
		return err
	}
	shelf, err := o.shelf()
	if err != nil {
		return err
	}
	var entries []entry
	next := ""
	for _, p := range all {
		e := entry{Name: p.Name, Title: p.Title, Minutes: p.Minutes(), Steps: guide.Steps(p)}
		place, err := shelf.Place(p)
		if err != nil {
			fmt.Fprintf(o.streams.Err, "%v\ntry: %s tutorial stop %s\n", err, command.Typed(os.Args[0]), p.Name)
		}
		if place != nil {
			e.Begun, e.Step, e.Dir = true, place.Step, shelf.World(p)
			next = p.Name
		}
		entries = append(entries, e)
	}
	if err := output.List(o.streams.Out, o.flags, kind(), entries); err != nil {
		return err
	}
	if next == "" && len(entries) > 0 {
		next = entries[0].Name
	}
	fmt.Fprintf(o.streams.Err, "\ntry: %s tutorial start %s\n", command.Typed(os.Args[0]), next)
	return nil
}

func kind() output.Kind[entry] {
	return output.Kind[entry]{
		Name: "Tutorial",
		Ref:  func(e entry) string { return "tutorial/" + e.Name },
		Columns: []output.Column[entry]{
			{Header: "NAME", Value: func(e entry) string { return e.Name }},
			{Header: "TITLE", Value: func(e entry) string { return e.Title }},
			{Header: "MINUTES", Value: func(e entry) string { return strconv.Itoa(e.Minutes) }},
			{Header: "PROGRESS", Value: func(e entry) string {
				if !e.Begun {
					return "not begun"
				}
				return fmt.Sprintf("step %d of %d", e.Step, e.Steps)
			}},
			{Header: "DIRECTORY", Wide: true, Value: func(e entry) string { return e.Dir }},
		},
	}
}

// Sandboxes returns lines about the sandboxes of tutorials, which other commands do not list: a tutorial keeps its own. It leaves
// out those of the tutorial whose world the caller is in.
func Sandboxes(d *command.Deps) (lines []string) {
	all, err := pages()
	if err != nil {
		return nil
	}
	shelf, err := shelf(d)
	if err != nil {
		return nil
	}
	here, _ := d.Sandboxes.Root() // "" is the world of none
	for _, p := range all {
		names := shelf.Sandboxes(p)
		if len(names) == 0 || tutorial.WorldAt(shelf.World(p)).State == here {
			continue
		}
		lines = append(lines, fmt.Sprintf("not listed: sandbox %s of tutorial %s\ntry: %s", strings.Join(names, ", "), p.Name,
			shellOf(d.Getenv("SHELL")).eval(command.Typed(os.Args[0])+" tutorial env "+p.Name)))
	}
	return lines
}

// NewCmdTutorial returns the group of commands.
func NewCmdTutorial(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:     "tutorial",
		Aliases: []string{"tutorials"},
		Short:   "Follow a tutorial step by step in this terminal",
		Long: `Follow a tutorial in this terminal. It shows the text, runs the commands or
waits until you have typed them in another terminal, and compares the results
with the page. Each takes ten minutes at most and leaves nothing behind.`,
		Example: `  vsphere-sandbox tutorial list
  vsphere-sandbox tutorial start 1`,
	}, NewCmdList(d, nil), NewCmdStart(d, nil), NewCmdStop(d, nil), NewCmdEnv(d, nil))
}

// shell is the syntax of a shell. The zero value is POSIX.
type shell struct{ fish bool }

func shellOf(name string) shell { return shell{fish: path.Base(name) == "fish"} }

// shells are those that may be named. Others that are POSIX ones take what bash takes.
func shells() []string { return []string{"bash", "zsh", "fish"} }

// quote puts a value in single quotes.
func (s shell) quote(v string) string {
	if s.fish {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v) + "'"
	}
	return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
}

func (s shell) set(name, value string) string {
	if s.fish {
		return "set -gx " + name + " " + s.quote(value)
	}
	return "export " + name + "=" + s.quote(value)
}

// prepend puts a directory before all others in PATH.
func (s shell) prepend(dir string) string {
	if s.fish {
		return "set -gx PATH " + s.quote(dir) + " $PATH"
	}
	return "export PATH=" + s.quote(dir) + `:"$PATH"`
}

// eval is what is typed to have a command's output take effect.
func (s shell) eval(command string) string {
	if s.fish {
		return command + " | source"
	}
	return `eval "$(` + command + `)"`
}

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
	return nil, report.UsageError(try, "tutorial %q not found", asked)
}

// noTutorial is the code of the error for no tutorial in progress.
const noTutorial = "no-tutorial"

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
		return nil, &report.Error{Code: noTutorial, Message: "no tutorial has been begun", Try: command.Program + " tutorial list"}
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

type envOptions struct {
	streams *iostreams.Streams
	shelf   func() (guide.Shelf, error)
	path    string

	names  []string
	shell  string
	format string
}

// NewCmdEnv returns the command; runF, when not nil, runs in its place.
func NewCmdEnv(d *command.Deps, runF func(context.Context, *envOptions) error) *cobra.Command {
	o := &envOptions{streams: d.Streams, shelf: func() (guide.Shelf, error) { return shelf(d) }}
	runF = command.Or(runF, runEnv)
	cmd := &cobra.Command{
		Use:   "env [NAME]",
		Short: "Print shell commands that set up another terminal for a tutorial",
		Long: `Print shell commands that set up another terminal for a tutorial that you have
started: its directory with the files of the page, the program in PATH, and its
sandboxes instead of yours. The default is the tutorial that is in progress.`,
		Example: `  eval "$(vsphere-sandbox tutorial env)"
  vsphere-sandbox tutorial env 1 --shell fish | source`,
		Args:              command.AtMostOne,
		ValidArgsFunction: complete1(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names, o.path = args, d.Getenv("PATH")
			switch {
			case o.shell == "":
				o.shell = d.Getenv("SHELL")
			case !slices.Contains(shells(), o.shell):
				return report.UsageError("--shell "+shells()[0], "--shell: %q is none of %s", o.shell, strings.Join(shells(), ", "))
			}
			return runF(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.shell, "shell", "", "shell syntax: "+strings.Join(shells(), ", ")+" (default: that of $SHELL)")
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	// Cannot fail: the flag was added above.
	_ = cmd.RegisterFlagCompletionFunc("shell", cobra.FixedCompletions(shells(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runEnv(_ context.Context, o *envOptions) error {
	shelf, err := o.shelf()
	if err != nil {
		return err
	}
	page, err := begun(shelf, o.names)
	if err != nil {
		return err
	}
	dir := shelf.World(page)
	world := tutorial.WorldAt(dir)
	if _, err := os.Stat(world.Dir); err != nil {
		return &report.Error{
			Code: "not-begun", Message: fmt.Sprintf("tutorial %s has not been begun", page.Name), Try: command.Program + " tutorial start " + page.Name,
		}
	}
	vars := []struct{ name, value string }{
		{"PATH", world.Bin + string(os.PathListSeparator) + o.path},
		{instance.RootEnv, world.State},
		{ShelfEnv, shelf.Dir},
		{command.NameEnv, ""},
	}
	if o.format != output.Text {
		m := map[string]string{}
		for _, v := range vars {
			m[v.name] = v.value
		}
		return output.Object(o.streams.Out, o.format, "Environment", map[string]any{"tutorial": page.Name, "dir": world.Dir, "variables": m})
	}
	sh := shellOf(o.shell)
	var text strings.Builder
	text.WriteString("cd " + sh.quote(world.Dir) + "\n")
	for _, v := range vars {
		if v.name == "PATH" { // as it is there, not here
			text.WriteString(sh.prepend(world.Bin) + "\n")
			continue
		}
		text.WriteString(sh.set(v.name, v.value) + "\n")
	}
	fmt.Fprintf(&text, "# To have it take effect, run this:\n#   %s\n", sh.eval(command.Program+" tutorial env "+page.Name))
	_, err = io.WriteString(o.streams.Out, text.String())
	return err
}
