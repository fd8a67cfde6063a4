package config

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

type renderOptions struct {
	streams *iostreams.Streams

	file string
}

// NewCmdRender returns the command; runF, when not nil, runs in its place.
func NewCmdRender(d *command.Deps, runF func(*renderOptions) error) *cobra.Command {
	o := &renderOptions{streams: d.Streams}
	return &cobra.Command{
		Use:   "render FILE",
		Short: "Write a vsphere.conf out in its normal form",
		Long: `Write a vsphere.conf out in its normal form: the YAML of the upstream provider,
every vCenter with all its values, whether they were its own, the global
section's or defaults, and without what has no effect. Passwords are masked.
"-" is standard input.`,
		Example: `  vsphere-sandbox config render vsphere.conf
  vsphere-sandbox config render in-tree.ini`,
		Args:              oneFile(),
		ValidArgsFunction: complete.OneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			o.file = args[0]
			if runF != nil {
				return runF(o)
			}
			return render(o)
		},
	}
}

func render(o *renderOptions) error {
	cfg, problems, err := check(o.streams, o.file)
	if err != nil {
		return err
	}
	if cfg == nil {
		return invalid(o.file, problems)
	}
	text, err := cfg.Masked().YAML()
	if err != nil {
		return err
	}
	_, err = o.streams.Out.Write(text)
	return err
}
