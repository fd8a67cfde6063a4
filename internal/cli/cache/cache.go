// Package cache is the commands that list and delete what the program keeps between sandboxes: built and unpacked CCMs and CSI
// drivers, sidecars and node images.
//
// Floor 5. The packages that fill the cache choose the paths below it.
package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// The kinds of entries.
const (
	ccmKind      = "ccm"
	csiKind      = "csi"
	sidecarsKind = "sidecars"
	nodeKind     = "node-image"
	otherKind    = "other"
)

func kinds() []string { return []string{ccmKind, csiKind, sidecarsKind, nodeKind, otherKind} }

// NewCmdCache returns the group of commands.
func NewCmdCache(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "cache",
		Short: "List and delete what is kept between sandboxes",
		Long: `List and delete what is kept between sandboxes, in the directory
$XDG_CACHE_HOME/vsphere-sandbox (default: ~/.cache/vsphere-sandbox). Everything
in it is built, unpacked or downloaded again when it is needed.

  ccm         CCMs that were built from a release or unpacked from an image
  csi         CSI drivers that were built from a release
  sidecars    the CSI sidecars of a release binary, unpacked
  node-image  node images for kind that hack/kind-node has built`,
		Example: `  vsphere-sandbox cache list
  vsphere-sandbox cache clean ccm csi`,
	}, NewCmdList(d, nil), NewCmdClean(d, nil))
}

type options struct {
	*command.Deps
	root func() (string, error)

	kinds []string
	force bool
	dry   bool
	flags output.Flags
}

func newOptions(d *command.Deps) *options { return &options{Deps: d, root: root} }

// root returns the directory of the cache.
func root() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", &report.Error{
			Code: "no-home", Message: "there is no place for a cache", Err: err, Exit: report.Prerequisite, Try: "export XDG_CACHE_HOME=DIR   # a folder that you can write to",
		}
	}
	return filepath.Join(dir, command.Program), nil
}

// NewCmdList returns the command; runF, when not nil, runs in its place.
func NewCmdList(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := newOptions(d)
	runF = command.Or(runF, list)
	cmd := &cobra.Command{
		Use:     "list [KIND]...",
		Aliases: []string{"ls"},
		Short:   "List the entries of the cache with their sizes",
		Long: `List the entries of the cache, with size and age. KIND is ccm, csi, sidecars or
node-image.`,
		Example: `  vsphere-sandbox cache list
  vsphere-sandbox cache list ccm -o wide`,
		ValidArgsFunction: cobra.FixedCompletions(kinds(), cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args, runF) },
	}
	o.flags.Bind(cmd)
	return cmd
}

// NewCmdClean returns the command; runF, when not nil, runs in its place.
func NewCmdClean(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := newOptions(d)
	runF = command.Or(runF, clean)
	cmd := &cobra.Command{
		Use:   "clean [KIND]...",
		Short: "Delete entries of the cache",
		Long: `Delete all entries of the cache, or those of a KIND: ccm, csi, sidecars or
node-image. A running sandbox may have started its CCM from the cache, so the
command refuses while one runs, unless you give --force.`,
		Example: `  vsphere-sandbox cache clean
  vsphere-sandbox cache clean node-image --dry-run`,
		ValidArgsFunction: cobra.FixedCompletions(kinds(), cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args, runF) },
	}
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "print what would be deleted, and exit")
	cmd.Flags().BoolVar(&o.force, "force", false, "delete also while a sandbox runs")
	return cmd
}

func (o *options) run(ctx context.Context, args []string, runF func(context.Context, *options) error) error {
	for _, kind := range args {
		if slices.Contains(kinds(), kind) {
			continue
		}
		try := command.Program + " cache list"
		if near := nearest.Of(kind, kinds()); near != "" {
			try += " " + near
		}
		return report.UsageError(try, "there is no kind of cache entries %q: there are %s", kind, strings.Join(kinds(), ", "))
	}
	o.kinds = args
	return runF(ctx, o)
}

// entry is one entry of the cache.
type entry struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Size int64  `json:"size"`
	// Changed is when it was written last.
	Changed time.Time `json:"changed,omitzero"`
	Path    string    `json:"path"`
}

// entries returns the entries of the chosen kinds, by kind and name.
func (o *options) entries(ctx context.Context) ([]entry, error) {
	dir, err := o.root()
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, p := range []struct{ kind, prefix, pattern string }{
		{ccmKind, "module:", "upstream/v*"},
		{ccmKind, "image ", "ccm/*"},
		{csiKind, "module:", "upstream/csi/*"},
		{sidecarsKind, "", "sidecars/*"},
		{nodeKind, "", "kind-node/*"},
		{otherKind, "", "*"},
	} {
		paths, err := filepath.Glob(filepath.Join(dir, p.pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			name := filepath.Base(path)
			if name == "lock" || p.kind == otherKind && slices.Contains([]string{"upstream", "ccm", "sidecars", "kind-node"}, name) ||
				len(o.kinds) > 0 && !slices.Contains(o.kinds, p.kind) {
				continue
			}
			e := entry{Kind: p.kind, Name: p.prefix + name, Path: path}
			if err := e.measure(ctx); err != nil {
				return nil, err
			}
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds(), a.Kind), slices.Index(kinds(), b.Kind)), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// measure adds up the sizes of its files. Another process may be deleting them.
func (e *entry) measure(ctx context.Context) error {
	return filepath.WalkDir(e.Path, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is not counted
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it was deleted just now
		}
		if info.Mode().IsRegular() {
			e.Size += info.Size()
		}
		if info.ModTime().After(e.Changed) && !info.ModTime().After(time.Now()) {
			e.Changed = info.ModTime()
		}
		return nil
	})
}

func list(ctx context.Context, o *options) error {
	all, err := o.entries(ctx)
	if err != nil {
		return err
	}
	if err := output.List(o.Streams.Out, o.flags, table(o.Now()), all); err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintln(o.Streams.Err, "the cache is empty")
	}
	return nil
}

func table(now time.Time) output.Kind[entry] {
	type column = output.Column[entry]
	return output.Kind[entry]{
		Name: "CacheEntry",
		Ref:  func(e entry) string { return e.Kind + "/" + e.Name },
		Columns: []column{
			{Header: "KIND", Value: func(e entry) string { return e.Kind }},
			{Header: "NAME", Value: func(e entry) string { return e.Name }},
			{Header: "SIZE", Value: func(e entry) string { return output.Bytes(e.Size) }},
			{Header: "AGE", Value: func(e entry) string { return output.Age(now, e.Changed) }},
			{Header: "PATH", Wide: true, Value: func(e entry) string { return e.Path }},
		},
	}
}

func clean(ctx context.Context, o *options) error {
	sandboxes, err := o.Sandboxes.List(ctx)
	if err != nil {
		return err
	}
	for _, s := range sandboxes {
		if s.Running && !o.force && !o.dry {
			return &report.Error{
				Code: "in-use", Message: fmt.Sprintf("sandbox %q runs, and may use programs of the cache; nothing was deleted", s.Name),
				Try: command.Program + " down --name " + s.Name + "\n" + command.Program + " cache clean --force",
			}
		}
	}
	all, err := o.entries(ctx)
	if err != nil {
		return err
	}
	verb := "deleted"
	if o.dry {
		verb = "would delete"
	}
	var errs []error
	var freed int64
	for _, e := range all {
		if !o.dry {
			if err := os.RemoveAll(e.Path); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		freed += e.Size
		fmt.Fprintf(o.Streams.Out, "%s %s %s (%s)\n", verb, e.Kind, e.Name, output.Bytes(e.Size))
	}
	switch {
	case len(all) == 0:
		fmt.Fprintln(o.Streams.Err, "the cache is empty")
	case len(errs) == 0 && !o.dry:
		fmt.Fprintf(o.Streams.Err, "%s freed\n", output.Bytes(freed))
	}
	return errors.Join(errs...)
}
