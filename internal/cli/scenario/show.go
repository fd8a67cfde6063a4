package scenario

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

type showOptions struct {
	streams   *iostreams.Streams
	catalogue catalogue

	name string
}

// NewCmdShow returns the command; runF, when not nil, runs in its place.
func NewCmdShow(d *command.Deps, runF func(*showOptions) error) *cobra.Command {
	o := &showOptions{streams: d.Streams, catalogue: own()}
	if runF == nil {
		runF = show
	}
	return &cobra.Command{
		Use:   "show (NAME | FILE)",
		Short: "Print a scenario as it is written",
		Long: `Print a scenario as it is written, comments and all: what to begin with for
one of your own.`,
		Example: `  vsphere-sandbox scenario show power-off
  vsphere-sandbox scenario show power-off > mine.yaml`,
		Args:              command.ExactlyOne("NAME or FILE"),
		ValidArgsFunction: o.catalogue.completeWords(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.name = args[0]
			return runF(o)
		},
	}
}

func show(o *showOptions) error {
	b, err := o.catalogue.read(o.name)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintf(o.streams.Out, "%s", b); err != nil {
		return err
	}
	// One with mistakes in it is shown all the same.
	if s, err := o.catalogue.one("show", o.name, nil); err == nil {
		writeReaches(o.streams.Err, o.name, s.Reaches())
	}
	return nil
}
