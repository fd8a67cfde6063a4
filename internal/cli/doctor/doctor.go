package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

type options struct {
	streams   *iostreams.Streams
	sandboxes command.Sandboxes
	machine   machine
	os, arch  string

	fix   bool
	flags output.Flags
}

// NewCmdDoctor returns the command; runF, when not nil, runs in its place.
func NewCmdDoctor(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, sandboxes: d.Sandboxes, machine: local{}}
	o.os, o.arch = here()
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell whether this machine can run sandboxes; clear away dead ones",
		Long: `Tell whether this machine can run sandboxes: each check passes, warns or fails.

The exit status is 4 when one fails. With --fix, what crashed sandboxes left
behind, processes and files, is cleared away.`,
		Example: `  vsphere-sandbox doctor
  vsphere-sandbox doctor --fix`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	o.flags.Bind(cmd)
	cmd.Flags().BoolVar(&o.fix, "fix", false, "clear away what crashed sandboxes left behind")
	return cmd
}

func run(ctx context.Context, o *options) error {
	var found []finding
	var failed, tries []string
	for _, c := range checks(o) {
		f := c.run(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f.Check = c.name
		found = append(found, f)
		if f.Verdict == fail {
			failed = append(failed, fmt.Sprintf("%s: %s", f.Check, f.Message))
		}
		if f.Try != "" && f.Verdict == fail {
			tries = append(tries, f.Try)
		}
	}
	if err := output.List(o.streams.Out, o.flags, kind(), found); err != nil {
		return err
	}
	if len(failed) > 0 {
		return &report.Error{
			Code: "prerequisite-missing", Message: strings.Join(failed, "; "), Try: strings.Join(tries, "\n"), Exit: report.Prerequisite,
		}
	}
	return nil
}

func kind() output.Kind[finding] {
	return output.Kind[finding]{
		Name: "Check",
		Ref:  func(f finding) string { return "check/" + f.Check },
		Columns: []output.Column[finding]{
			{Header: "CHECK", Value: func(f finding) string { return f.Check }},
			{Header: "VERDICT", Value: func(f finding) string { return f.Verdict }},
			{Header: "FOUND", Value: func(f finding) string {
				if f.Try != "" {
					return f.Message + " (try: " + f.Try + ")"
				}
				return f.Message
			}},
		},
	}
}
