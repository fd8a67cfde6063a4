package tutorial

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial/guide"
)

type stopOptions struct {
	streams *iostreams.Streams
	shelf   func() (guide.Shelf, error)
	self    string

	names []string
}

// NewCmdStop returns the command; runF, when not nil, runs in its place.
func NewCmdStop(d *command.Deps, runF func(context.Context, *stopOptions) error) *cobra.Command {
	o := &stopOptions{streams: d.Streams, shelf: func() (guide.Shelf, error) { return shelf(d) }, self: d.Self}
	if runF == nil {
		runF = runStop
	}
	return &cobra.Command{
		Use:   "stop [NAME]",
		Short: "End a tutorial: its sandboxes, its files, your place in it",
		Long: `End a tutorial that has been begun: its sandboxes are taken down, and its files
and what you have made beside them are removed, with your place in it. Programs
that you run there in a terminal of your own live on. Without a NAME it is the
one that has been begun.`,
		Example: `  vsphere-sandbox tutorial stop
  vsphere-sandbox tutorial stop 1`,
		Args:              command.AtMostOne,
		ValidArgsFunction: complete1(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			return runF(cmd.Context(), o)
		},
	}
}

func runStop(ctx context.Context, o *stopOptions) error {
	shelf, err := o.shelf()
	if err != nil {
		return err
	}
	page, err := begun(shelf, o.names)
	if err != nil {
		return err
	}
	place, err := shelf.Place(page)
	if err != nil {
		fmt.Fprintln(o.streams.Err, err) // it is removed, whatever is in it
	}
	fmt.Fprintf(o.streams.Err, "tutorial %s: stopping\n", page.Name)
	left, err := stopped(ctx, o.streams, shelf, page, o.self)
	if told := guide.Cleared(left); told != "" {
		fmt.Fprintln(o.streams.Err, told)
	}
	if err != nil {
		return explain(err, page)
	}
	if place == nil && len(left) == 0 {
		fmt.Fprintf(o.streams.Err, "tutorial %s: it had not been begun; nothing is left of it\n", page.Name)
		return nil
	}
	fmt.Fprintf(o.streams.Err, "tutorial %s: stopped, nothing of it is left\n", page.Name)
	return nil
}

// stopped is [guide.Shelf.Stop], which says what it waits for where sandboxes take long to go down.
func stopped(ctx context.Context, streams *iostreams.Streams, shelf guide.Shelf, page *tutorial.Page, binary string) (left []string, err error) {
	progress := vcenterconfig.NewProgress(streams.Err, streams.ErrTTY())
	defer progress.Close()
	progress.Step("tutorial " + page.Name + ": taking down what runs in it")
	return shelf.Stop(ctx, page, binary)
}
