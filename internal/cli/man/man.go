package man

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

type options struct {
	streams *iostreams.Streams
	root    *cobra.Command

	about []string // the words of a command
	dir   string
}

// NewCmdMan returns the command; runF, when not nil, runs in its place.
func NewCmdMan(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams}
	cmd := &cobra.Command{
		Use:   "man [COMMAND]...",
		Short: "Print a manual page, or write all of them to a directory",
		Long: `Print the manual page of a command, or of the program, in the format of man(1).
With --dir, write the pages of all commands there as vsphere-sandbox-COMMAND.1.`,
		Example: `  vsphere-sandbox man vm power-off | man -l -
  vsphere-sandbox man --dir ~/.local/share/man/man1`,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.root, o.about = cmd.Root(), args
			if len(args) > 0 && o.dir != "" {
				return report.UsageError(cmd.CommandPath()+" --help", "--dir is for the pages of all commands, %q is one", args[0])
			}
			return command.Or(runF, run)(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.dir, "dir", "", "write all pages to `DIR`, which is created if needed")
	return cmd
}

func run(ctx context.Context, o *options) error {
	o.root.InitDefaultCompletionCmd() // so that it has a page, too
	if o.dir != "" {
		return writeAll(ctx, o)
	}
	about, rest, err := o.root.Traverse(o.about)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return command.UnknownCommand(about, rest[0])
	}
	_, err = o.streams.Out.Write(page(about, build.Version()))
	return err
}

// writeAll writes the pages. One that is the same already is left as it is.
func writeAll(ctx context.Context, o *options) error {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return unwritable(err)
	}
	pages := 0
	err := walk(o.root, func(cmd *cobra.Command) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		file, text := filepath.Join(o.dir, name(cmd)+".1"), page(cmd, build.Version())
		pages++
		if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, text) {
			return nil
		}
		return unwritable(os.WriteFile(file, text, 0o644))
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(o.streams.Err, "%d manual pages are in %s\n", pages, o.dir)
	return nil
}

// walk calls f for a command and those below it that people may use.
func walk(cmd *cobra.Command, f func(*cobra.Command) error) error {
	if err := f(cmd); err != nil {
		return err
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			if err := walk(c, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// unwritable adds to err where else the pages can be written; nil stays nil.
func unwritable(err error) error {
	if err == nil {
		return nil
	}
	e := &report.Error{Code: "unwritable", Message: "manual pages", Err: err, Try: "--dir with a folder that you may write"}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		e.Exit = report.Prerequisite
	}
	return e
}

// name is that of a command's page: vsphere-sandbox-vm-power-off.
func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page is the manual page of a command, of the program's version. The same command makes the same page: there is no date.
func page(cmd *cobra.Command, version string) []byte {
	// Cobra adds both when a command runs, which this one need not have done.
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s %s\n", quoted(strings.ToUpper(name(cmd))), quoted(cmd.Root().Name()+" "+version), quoted(cmd.Root().Name()+" manual"))
	// No hyphenation and no justification.
	b.WriteString(".nh\n.ad l\n")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", text(name(cmd)), text(cmd.Short))
	b.WriteString(".SH SYNOPSIS\n")
	fmt.Fprintf(&b, ".B %s\n", text(synopsis(cmd)))
	b.WriteString(".SH DESCRIPTION\n")
	asIs(&b, cmp.Or(cmd.Long, cmd.Short+"."))
	commands(&b, cmd)
	flags(&b, "OPTIONS", cmd.LocalFlags())
	flags(&b, "GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		asIs(&b, cmd.Example)
	}
	related(&b, cmd)
	return b.Bytes()
}

func synopsis(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() {
		return cmd.CommandPath() + " COMMAND"
	}
	return cmd.UseLine()
}

// commands lists those below, in the order of the help.
func commands(b *bytes.Buffer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	b.WriteString(".SH COMMANDS\n")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", text(c.Name()), text(c.Short))
		}
	}
}

func flags(b *bytes.Buffer, title string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		spelled := "--" + f.Name
		if f.Shorthand != "" {
			spelled = "-" + f.Shorthand + ", " + spelled
		}
		if value != "" {
			spelled += " " + value
		}
		if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", text(spelled), text(usage))
	})
}

// related names the pages above and below.
func related(b *bytes.Buffer, cmd *cobra.Command) {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, name(cmd.Parent()))
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			pages = append(pages, name(c))
		}
	}
	if len(pages) == 0 {
		return
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, p := range pages {
		comma := ","
		if i == len(pages)-1 {
			comma = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", text(p), comma)
	}
}

// asIs sets lines as they stand: the help is laid out for a terminal, and stays so.
func asIs(b *bytes.Buffer, s string) {
	b.WriteString(".nf\n")
	for line := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		b.WriteString(text(line) + "\n")
	}
	b.WriteString(".fi\n")
}

// text is one line of plain text, in which nothing is an instruction: a backslash begins one anywhere, a dot and an
// apostrophe do at the start of a line. A hyphen stays one, to be typed after it was copied.
func text(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}

// quoted is an argument of an instruction.
func quoted(s string) string { return `"` + strings.ReplaceAll(text(s), `"`, `\(dq`) + `"` }
