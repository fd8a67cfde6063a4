package get

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/follow"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// resource is a kind of thing that can be listed.
type resource[T any] struct {
	kind    func(now time.Time) output.Kind[T]
	list    func(*api.Client, context.Context) ([]T, error)
	names   func(T) []string // what an item goes by on the command line
	one     string           // "vCenter"
	many    string           // "vCenters"
	columns string           // what the table tells, for the help text
}

type options struct {
	streams *iostreams.Streams
	now     func() time.Time
	connect func(context.Context) (*command.Target, error)

	names []string
	flags output.Flags
	watch bool
}

// newCmd returns the command that lists r; use and aliases are its names.
func newCmd[T any](d *command.Deps, r resource[T], use string, aliases []string, words complete.Func, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, now: d.Now, connect: d.Connect}
	cmd := &cobra.Command{
		Use:               use + " [NAME]...",
		Aliases:           aliases,
		Short:             "List " + r.many,
		Long:              fmt.Sprintf("List %s: %s.", r.many, r.columns),
		Example:           fmt.Sprintf("  vsphere-sandbox get %s\n  vsphere-sandbox get %s -o json", use, aliases[0]),
		ValidArgsFunction: words,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			if runF != nil {
				return runF(cmd.Context(), o)
			}
			return run(cmd.Context(), o, r)
		},
	}
	o.flags.Bind(cmd)
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "go on, and print each item again when it changes")
	return cmd
}

func run[T any](ctx context.Context, o *options, r resource[T]) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	items, err := pick(ctx, o, r, t)
	if err != nil {
		return err
	}
	kind := r.kind(o.now())
	if !o.watch {
		if len(items) == 0 {
			fmt.Fprintf(o.streams.Err, "no %s\n", r.many)
		}
		return output.List(o.streams.Out, o.flags, kind, items)
	}
	w := output.NewWatch(o.streams.Out, o.flags, kind)
	if err := w.Show(items); err != nil {
		return err
	}
	return follow.Each(ctx, t, func() (bool, error) {
		// Without a filter on the server's side: one that is destroyed must not end the watch of the others.
		items, err := command.Ask(ctx, t, r.list)
		if err != nil {
			return false, err
		}
		return false, w.Show(named(items, o.names, r))
	})
}

func pick[T any](ctx context.Context, o *options, r resource[T], t *command.Target) ([]T, error) {
	items, err := command.Ask(ctx, t, r.list)
	if err != nil {
		return nil, err
	}
	picked, err := command.Pick(r.one, items, o.names, r.names)
	if e, ok := errors.AsType[*report.Error](err); ok {
		e.Try = command.Program + " get " + strings.ToLower(r.many) // which is what the command is called
	}
	return picked, err
}

// named returns the items that the names stand for; unlike [command.Pick] it lets names stand for nothing.
func named[T any](items []T, names []string, r resource[T]) []T {
	var all []T
	for _, name := range names {
		if some, err := command.Pick(r.one, items, []string{name}, r.names); err == nil {
			all = append(all, some...)
		}
	}
	if len(names) == 0 {
		return items
	}
	return all
}
