package ccm

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

type statusOptions struct {
	options
	now   func() time.Time
	flags output.Flags
}

// NewCmdStatus returns the command; runF, when not nil, runs in its place.
func NewCmdStatus(d *command.Deps, runF func(context.Context, *statusOptions) error) *cobra.Command {
	o := &statusOptions{options: options{streams: d.Streams, connect: d.Connect}, now: d.Now}
	if runF == nil {
		runF = status
	}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell which CCM runs, and how it is",
		Long: `Tell which CCM runs, where it comes from, whether it is healthy, and which of
several leads. The exit status is 3 when one is not healthy.`,
		Example: `  vsphere-sandbox ccm status
  vsphere-sandbox ccm status -o json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	o.flags.Bind(cmd)
	return cmd
}

func status(ctx context.Context, o *statusOptions) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	s, err := command.Ask(ctx, t, (*api.Client).Status)
	if err != nil {
		return err
	}
	var rows []api.Component
	var ill []string
	for _, c := range s.Components {
		if c.Source == "" {
			continue
		}
		rows = append(rows, c)
		if c.Health != "healthy" {
			ill = append(ill, c.Name+": "+c.Health)
		}
	}
	if len(rows) == 0 {
		return &report.Error{Code: "not-found", Message: "the sandbox has no cloud controller manager", Try: command.Program + " ccm swap builtin"}
	}
	if err := output.List(o.streams.Out, o.flags, table(o.now()), rows); err != nil {
		return err
	}
	if len(ill) > 0 {
		return &report.Error{Code: "degraded", Message: strings.Join(ill, "; "), Try: command.Program + " logs ccm", Exit: report.Degraded}
	}
	return nil
}

func table(now time.Time) output.Kind[api.Component] {
	return output.Kind[api.Component]{
		Name: "Component",
		Ref:  func(c api.Component) string { return "component/" + c.Name },
		Columns: []output.Column[api.Component]{
			{Header: "NAME", Value: func(c api.Component) string { return c.Name }},
			{Header: "SOURCE", Value: func(c api.Component) string { return c.Source }},
			{Header: "VERSION", Value: func(c api.Component) string { return c.Version }},
			{Header: "STATE", Value: func(c api.Component) string { return c.State }},
			{Header: "HEALTH", Value: func(c api.Component) string { return c.Health }},
			{Header: "LEADER", Value: leader},
			{Header: "RESTARTS", Value: func(c api.Component) string { return itoa(c.Restarts) }},
			{Header: "AGE", Value: func(c api.Component) string { return output.Age(now, c.Since) }},
			{Header: "PID", Value: func(c api.Component) string { return itoa(c.PID) }, Wide: true},
			{Header: "DIGEST", Value: func(c api.Component) string { return c.Digest }, Wide: true},
		},
	}
}

func leader(c api.Component) string {
	if c.Leader {
		return "yes"
	}
	return ""
}
