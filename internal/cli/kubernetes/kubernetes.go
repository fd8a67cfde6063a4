package kubernetes

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
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/programs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
)

// NewCmdKubernetes returns the group of commands.
func NewCmdKubernetes(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "kubernetes",
		Short: "List, build and remove the Kubernetes releases of embedded clusters",
		Long: `List, build and remove the Kubernetes releases that embedded clusters can have.

The control plane and the kubelets of a sandbox are a separate program, one
for each minor version. The program of the default release comes with
vsphere-sandbox. The others are built with the Go toolchain, into the cache.`,
		Example: `  vsphere-sandbox kubernetes list
  vsphere-sandbox kubernetes fetch v1.35
  vsphere-sandbox up --kubernetes v1.35`,
	}, NewCmdList(d, nil), NewCmdFetch(d, nil), NewCmdRemove(d, nil))
}

type options struct {
	streams *iostreams.Streams
	finder  programs.Finder
	flags   output.Flags
	names   []string
}

func newOptions(d *command.Deps) *options {
	return &options{streams: d.Streams, finder: finder(d.Streams)}
}

// names are the releases, for completion.
func names(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return release.Names(), cobra.ShellCompDirectiveNoFileComp
}

func olderNames() string { return strings.Join(release.Names()[1:], ", ") }

// NewCmdList returns the command; runF, when not nil, runs in its place.
func NewCmdList(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := newOptions(d)
	if runF == nil {
		runF = list
	}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the Kubernetes releases, and where their programs are",
		Example: `  vsphere-sandbox kubernetes list
  vsphere-sandbox kubernetes list -o json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	o.flags.Bind(cmd)
	return cmd
}

// row is a line of the list.
type row struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Etcd    string `json:"etcd"`
	Default bool   `json:"default"`
	// Where is builtin or cache; missing: it has to be fetched first.
	Where string `json:"where"`
	Path  string `json:"path,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
}

func table() output.Kind[row] {
	type column = output.Column[row]
	return output.Kind[row]{
		Name: "Kubernetes",
		Ref:  func(r row) string { return "kubernetes/" + r.Name },
		Columns: []column{
			{Header: "NAME", Value: func(r row) string { return r.Name }},
			{Header: "VERSION", Value: func(r row) string { return r.Version }},
			{Header: "WHERE", Value: func(r row) string { return r.Where }},
			{Header: "ETCD", Wide: true, Value: func(r row) string { return r.Etcd }},
			{Header: "PATH", Wide: true, Value: func(r row) string { return r.Path }},
		},
	}
}

func list(_ context.Context, o *options) error {
	all, err := o.finder.List()
	if err != nil {
		return err
	}
	rows := make([]row, 0, len(all))
	for _, l := range all {
		r := row{Name: l.Name(), Version: l.Version, Etcd: l.Etcd, Default: l.Default, Where: l.Where, Path: l.Path, Bytes: l.Bytes}
		if r.Where == "" {
			r.Where = "missing"
		}
		rows = append(rows, r)
	}
	return output.List(o.streams.Out, o.flags, table(), rows)
}

// NewCmdFetch returns the command; runF, when not nil, runs in its place.
func NewCmdFetch(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := newOptions(d)
	if runF == nil {
		runF = fetch
	}
	return &cobra.Command{
		Use:   "fetch VERSION...",
		Short: "Build the program of a Kubernetes release into the cache",
		Long: `Build the program of a Kubernetes release into the cache, so that "up" need not.
It needs a Go toolchain, and the Go module proxy or a module cache that has the
release; the first build takes minutes.

Exit status:
  0    the program is in the cache
  1    it could not be built
  2    there is no such release
  4    there is no Go toolchain, or there are no sources to build from`,
		Example:           `  vsphere-sandbox kubernetes fetch v1.35`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: names,
		RunE:              o.run(runF),
	}
}

func (o *options) run(runF func(context.Context, *options) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		o.names = args
		for _, name := range args {
			if _, err := o.release(name); err != nil {
				return err
			}
		}
		return runF(cmd.Context(), o)
	}
}

// release returns the release of an argument.
func (o *options) release(name string) (release.Release, error) {
	s, err := programs.Parse(name)
	if err != nil {
		return release.Release{}, Explain(err)
	}
	r, ok := s.Release()
	if !ok {
		return r, report.UsageError(strings.Join(release.Names(), ", "), "%s: want a version", name)
	}
	return r, nil
}

func fetch(ctx context.Context, o *options) error {
	for _, name := range o.names {
		r, err := o.release(name)
		if err != nil {
			return err
		}
		p, err := o.finder.Fetch(ctx, r)
		if err != nil {
			return Explain(err)
		}
		fmt.Fprintln(o.streams.Out, p.Path)
	}
	return nil
}

// NewCmdRemove returns the command; runF, when not nil, runs in its place.
func NewCmdRemove(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := newOptions(d)
	if runF == nil {
		runF = remove
	}
	return &cobra.Command{
		Use:   "remove VERSION...",
		Short: "Remove the program of a Kubernetes release from the cache",
		Long: `Remove the program of a Kubernetes release from the cache. A sandbox that runs
keeps it until it stops. The program of the default release that comes with
vsphere-sandbox stays.`,
		Example:           `  vsphere-sandbox kubernetes remove v1.35`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: names,
		RunE:              o.run(runF),
	}
}

func remove(_ context.Context, o *options) error {
	for _, name := range o.names {
		r, err := o.release(name)
		if err != nil {
			return err
		}
		removed, err := o.finder.Remove(r)
		for _, dir := range removed {
			fmt.Fprintln(o.streams.Out, "removed", dir)
		}
		if err != nil {
			return err
		}
		if len(removed) == 0 {
			fmt.Fprintf(o.streams.Out, "%s is not in the cache\n", r.Version)
		}
	}
	return nil
}
