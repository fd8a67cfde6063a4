package tutorial

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial/guide"
)

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
	if runF == nil {
		runF = runEnv
	}
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
