package man

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

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
			if runF != nil {
				return runF(cmd.Context(), o)
			}
			return run(cmd.Context(), o)
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
