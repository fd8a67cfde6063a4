package ccm

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdSwap returns the command; runF, when not nil, runs in its place.
func NewCmdSwap(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, connect: d.Connect}
	cmd := &cobra.Command{
		Use:   "swap SOURCE",
		Short: "Have another CCM run",
		Long: `Have another CCM run: the one that runs is ended in order (SIGTERM), then the
other is started. The command returns when that is healthy.

One that exits at once, or is not healthy within a minute, is ended again; the
one before it runs on, and the message has its last words.`,
		Example: `  vsphere-sandbox ccm swap ./my-ccm --arg=--v=4
  vsphere-sandbox ccm swap module:v1.34.0
  vsphere-sandbox ccm swap builtin --replicas 2`,
		Args:              cobra.MatchAll(command.AtLeastOne("SOURCE"), command.AtMostOne),
		ValidArgsFunction: Sources,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.flags.Source = args[0]
			if err := o.flags.Check(); err != nil {
				return err
			}
			if runF != nil {
				return runF(cmd.Context(), o)
			}
			return swap(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.flags.Args, "arg", nil, "argument for it, after the sandbox's own; may be repeated")
	f.StringArrayVar(&o.flags.Env, "env", nil, "environment variable for it, NAME=VALUE; may be repeated")
	f.IntVar(&o.flags.Replicas, "replicas", 1, "how many of it run; several elect a leader")
	for _, none := range []string{"arg", "env", "replicas"} {
		_ = cmd.RegisterFlagCompletionFunc(none, complete.None) // its only error is an unknown flag
	}
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

func swap(ctx context.Context, o *options) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	p, err := resolve(ctx, o.flags.Source, o.streams)
	if err != nil {
		return err
	}
	done, err := command.Do(ctx, t, func(c *api.Client, ctx context.Context) (api.Done, error) {
		return c.SwapCCM(ctx, api.CCMRequest{
			Path: p.Path, Source: p.Source, Version: p.Version, Digest: p.Digest,
			Args: o.flags.Args, Env: o.flags.Env, Replicas: o.flags.Replicas,
		})
	})
	return tell(o, done, err)
}

// tell prints what was done.
func tell(o *options, done api.Done, err error) error {
	switch {
	case err != nil:
		return err
	case o.format == output.JSON || o.format == output.YAML:
		return output.Object(o.streams.Out, o.format, "Result", done)
	}
	_, err = fmt.Fprintf(o.streams.Out, "ccm: %s\n", done.Message)
	return err
}
