package ccm

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
)

// NewCmdFetch returns the command; runF, when not nil, runs in its place.
func NewCmdFetch(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, flags: Flags{Replicas: 1}}
	if runF == nil {
		runF = fetch
	}
	cmd := &cobra.Command{
		Use:   "fetch SOURCE",
		Short: "Download or build a CCM, and print the path of its program",
		Long: `Make sure that there is the program of a CCM, and print its path: download an
image and unpack the program, or build upstream's release, which takes some
minutes the first time. It is kept in the user's cache folder.`,
		Example: `  vsphere-sandbox ccm fetch module:v1.36.0
  vsphere-sandbox ccm fetch archive:ccm.tar -o json`,
		Args:              cobra.MatchAll(command.AtLeastOne("SOURCE"), command.AtMostOne),
		ValidArgsFunction: Sources,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.flags.Source = args[0]
			if err := o.flags.Check(); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

func fetch(ctx context.Context, o *options) error {
	p, err := resolve(ctx, o.flags.Source, o.streams)
	if err != nil {
		return err
	}
	if p.Path == "" {
		p.Path = "builtin"
	}
	if o.format == output.JSON || o.format == output.YAML {
		return output.Object(o.streams.Out, o.format, "Program", p)
	}
	_, err = fmt.Fprintln(o.streams.Out, p.Path)
	return err
}

func itoa(n int) string { return strconv.Itoa(n) }
