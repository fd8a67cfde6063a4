package tutorial

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial/guide"
)

// entry is one line.
type entry struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Minutes int    `json:"minutes"`
	Steps   int    `json:"steps"`
	// Begun says that there is a place to go on at, and Step which that is.
	Begun bool   `json:"begun"`
	Step  int    `json:"step,omitempty"`
	Dir   string `json:"dir,omitempty"`
}

type listOptions struct {
	streams *iostreams.Streams
	shelf   func() (guide.Shelf, error)

	flags output.Flags
}

// NewCmdList returns the command; runF, when not nil, runs in its place.
func NewCmdList(d *command.Deps, runF func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{streams: d.Streams, shelf: func() (guide.Shelf, error) { return shelf(d) }}
	if runF == nil {
		runF = runList
	}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the tutorials, and how far you are",
		Long: `List the tutorials: how long each takes a reader, and how far you are in those
that you have begun. One that is done or stopped has left nothing.`,
		Example: `  vsphere-sandbox tutorial list
  vsphere-sandbox tutorial list -o json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	o.flags.Bind(cmd)
	return cmd
}

func runList(_ context.Context, o *listOptions) error {
	all, err := pages()
	if err != nil {
		return err
	}
	shelf, err := o.shelf()
	if err != nil {
		return err
	}
	var entries []entry
	next := ""
	for _, p := range all {
		e := entry{Name: p.Name, Title: p.Title, Minutes: p.Minutes(), Steps: guide.Steps(p)}
		place, err := shelf.Place(p)
		if err != nil {
			fmt.Fprintf(o.streams.Err, "%v\ntry: %s tutorial stop %s\n", err, command.Program, p.Name)
		}
		if place != nil {
			e.Begun, e.Step, e.Dir = true, place.Step, shelf.World(p)
			next = p.Name
		}
		entries = append(entries, e)
	}
	if err := output.List(o.streams.Out, o.flags, kind(), entries); err != nil {
		return err
	}
	if next == "" && len(entries) > 0 {
		next = entries[0].Name
	}
	fmt.Fprintf(o.streams.Err, "\ntry: %s tutorial start %s\n", command.Program, next)
	return nil
}

func kind() output.Kind[entry] {
	return output.Kind[entry]{
		Name: "Tutorial",
		Ref:  func(e entry) string { return "tutorial/" + e.Name },
		Columns: []output.Column[entry]{
			{Header: "NAME", Value: func(e entry) string { return e.Name }},
			{Header: "TITLE", Value: func(e entry) string { return e.Title }},
			{Header: "MINUTES", Value: func(e entry) string { return strconv.Itoa(e.Minutes) }},
			{Header: "PROGRESS", Value: func(e entry) string {
				if !e.Begun {
					return "not begun"
				}
				return fmt.Sprintf("step %d of %d", e.Step, e.Steps)
			}},
			{Header: "DIRECTORY", Wide: true, Value: func(e entry) string { return e.Dir }},
		},
	}
}
