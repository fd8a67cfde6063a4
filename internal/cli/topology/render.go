package topology

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

type renderOptions struct {
	streams *iostreams.Streams

	source string
	set    source.Settings
	format string
}

// NewCmdRender returns the command; runF, when not nil, runs in its place.
func NewCmdRender(d *command.Deps, runF func(*renderOptions) error) *cobra.Command {
	o := &renderOptions{streams: d.Streams, format: output.YAML}
	cmd := &cobra.Command{
		Use:   "render [SCENARIO | FILE]",
		Short: "Write a topology out with everything filled in",
		Long: `Write a topology out with everything filled in: files included, parameters
replaced, replicas counted out, defaults set, VMs placed, and every UUID, MAC
and IP address derived. The result is a topology that builds the same again.`,
		Example: `  vsphere-sandbox topology render zones-us-eu
  vsphere-sandbox topology render my-topology.yaml --set workers=5 > resolved.yaml
  vsphere-sandbox topology render single -o json`,
		Args:              command.AtMostOne,
		ValidArgsFunction: source.Names(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.source = source.Or(args)
			if runF != nil {
				return runF(o)
			}
			return render(o)
		},
	}
	o.set.Bind(cmd)
	output.BindFormat(cmd, &o.format, output.YAML, output.JSON)
	return cmd
}

func render(o *renderOptions) error {
	t, err := source.Load("topology render", o.source, o.set)
	if err != nil {
		return err
	}
	return source.Write(o.streams.Out, o.format, t)
}
