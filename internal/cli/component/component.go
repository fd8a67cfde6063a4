// Package component has what the commands about components with a program of the user's choice share: the cloud controller manager
// and the CSI driver.
package component

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/logs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Call is a request to a sandbox that changes a component.
type Call func(*api.Client, context.Context) (api.Done, error)

// Swap is a command that replaces the program of a component.
type Swap struct {
	Group string // of the commands: "ccm"
	// Command has the texts, the flags and the completion of sources.
	Command *cobra.Command
	// Source gets the argument.
	Source *string
	// Check validates source and flags.
	Check func() error
	// Resolve finds the program, and returns the request.
	Resolve func(context.Context) (Call, error)
	// Plain are the flags without completion.
	Plain []string
}

// NewCmdSwap completes the command "swap SOURCE".
func NewCmdSwap(d *command.Deps, s Swap) *cobra.Command {
	cmd := s.Command
	cmd.Use, cmd.Args = "swap SOURCE", cobra.MatchAll(command.AtLeastOne("SOURCE"), command.AtMostOne)
	run := bind(d, s.Group, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		*s.Source = args[0]
		if err := s.Check(); err != nil {
			return err
		}
		return run(cmd.Context(), s.Resolve)
	}
	for _, none := range s.Plain {
		_ = cmd.RegisterFlagCompletionFunc(none, complete.None) // its only error is an unknown flag
	}
	return cmd
}

// NewCmdRestart returns the command that starts a component again.
func NewCmdRestart(d *command.Deps, group, short, long string, restart Call) *cobra.Command {
	cmd := &cobra.Command{
		Use: "restart", Short: short, Long: long, Example: "  vsphere-sandbox " + group + " restart",
		Args: command.NoArgs, ValidArgsFunction: complete.None,
	}
	run := bind(d, group, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return run(cmd.Context(), func(context.Context) (Call, error) { return restart, nil })
	}
	return cmd
}

// NewCmdLogs returns the command "logs [PART]", which prints what the components of a group have logged.
func NewCmdLogs(d *command.Deps, group, short, long string, parts ...logs.Part) *cobra.Command {
	long += "\n\nWith -o, list the logs, with their paths in -o wide and -o json, instead of\nprinting them. It also works for a sandbox that crashed."
	return logs.NewCmdGroup(d, logs.Group{Parts: parts, Command: &cobra.Command{
		Short: short, Long: long, Example: "  vsphere-sandbox " + group + " logs -f --tail 20\n  vsphere-sandbox " + group + " logs -o json",
	}})
}

// bind adds the flag of the output, and returns what makes a request and prints its result.
func bind(d *command.Deps, group string, cmd *cobra.Command) func(context.Context, func(context.Context) (Call, error)) error {
	var format string
	output.BindFormat(cmd, &format, output.Plain, output.JSON, output.YAML)
	return func(ctx context.Context, resolve func(context.Context) (Call, error)) error {
		t, err := d.Connect(ctx)
		if err != nil {
			return err
		}
		call, err := resolve(ctx)
		if err != nil {
			return err
		}
		done, err := command.Do(ctx, t, call)
		switch {
		case err != nil:
			return err
		case format == output.JSON || format == output.YAML:
			return output.Object(d.Streams.Out, format, "Result", done)
		}
		_, err = fmt.Fprintf(d.Streams.Out, "%s: %s\n", group, done.Message)
		return err
	}
}

// NewCmdStatus returns the command "status", which calls status with its flags.
func NewCmdStatus(group, short, long string, status func(context.Context, output.Flags) error) *cobra.Command {
	var flags output.Flags
	cmd := &cobra.Command{
		Use: "status", Short: short, Long: long,
		Example: "  vsphere-sandbox " + group + " status\n  vsphere-sandbox " + group + " status -o json",
		Args:    command.NoArgs, ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return status(cmd.Context(), flags) },
	}
	flags.Bind(cmd)
	return cmd
}

// Columns are the columns of a row that is about a component: NAME SOURCE VERSION STATE HEALTH LEADER RESTARTS AGE, PID and DIGEST.
func Columns[T any](now time.Time, of func(T) api.Component, source func(T) string) []output.Column[T] {
	text := func(f func(api.Component) string) func(T) string { return func(row T) string { return f(of(row)) } }
	return []output.Column[T]{
		{Header: "NAME", Value: text(func(c api.Component) string { return c.Name })},
		{Header: "SOURCE", Value: source},
		{Header: "VERSION", Value: text(func(c api.Component) string { return c.Version })},
		{Header: "STATE", Value: text(func(c api.Component) string { return c.State })},
		{Header: "HEALTH", Value: text(func(c api.Component) string { return c.Health })},
		{Header: "LEADER", Value: text(leader)},
		{Header: "RESTARTS", Value: text(func(c api.Component) string { return strconv.Itoa(c.Restarts) })},
		{Header: "AGE", Value: text(func(c api.Component) string { return output.Age(now, c.Since) })},
		{Header: "PID", Value: text(func(c api.Component) string { return strconv.Itoa(c.PID) }), Wide: true},
		{Header: "DIGEST", Value: text(func(c api.Component) string { return c.Digest }), Wide: true},
	}
}

func leader(c api.Component) string {
	if c.Leader {
		return "yes"
	}
	return ""
}

// Degraded returns the error about components that are not healthy, or whose newest build did not start; nil if all are well. logs
// returns the arguments of the command that prints the log of a component.
func Degraded(all []api.Component, logs func(api.Component) string) error {
	var ill []string
	var first api.Component
	for _, c := range all {
		if len(ill) == 0 {
			first = c
		}
		switch {
		case c.Health != "" && c.Health != "healthy":
			ill = append(ill, c.Name+": "+c.Health)
		case c.Health == "" && c.State != "running":
			ill = append(ill, c.Name+": "+c.State)
		}
		if c.FailedBuild != "" {
			ill = append(ill, c.Name+": "+c.FailedBuild)
		}
	}
	if len(ill) == 0 {
		return nil
	}
	return &report.Error{Code: "degraded", Message: strings.Join(ill, "; "), Try: command.Program + " " + logs(first), Exit: report.Degraded}
}

// CheckProgram refuses values of --GROUP-arg, --GROUP-env and --GROUP-watch that no program can have. Those are what programs of the
// group are called in messages.
func CheckProgram(group, those string, args, env []string, watch string) error {
	flag := "--" + group
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return report.UsageError(flag+"-arg=--v=4", "%s-arg %q: %s take flags alone", flag, a, those)
		}
	}
	for _, v := range env {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
			return report.UsageError(flag+"-env NAME=VALUE", "%s-env %q: want NAME=VALUE", flag, v)
		}
	}
	if watch == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(watch)); err != nil || !info.IsDir() {
		return report.UsageError(flag+"-watch FOLDER/PROGRAM, in a folder that the build writes to", "%s-watch %s: there is no such folder", flag, watch)
	}
	return nil
}
