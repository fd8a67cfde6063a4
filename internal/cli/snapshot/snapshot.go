// Package snapshot has the commands that save and restore the state of a sandbox.
//
// Floor 5.
package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/snapshot"
)

// NewCmdSnapshot returns the group of commands.
func NewCmdSnapshot(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "snapshot",
		Short: "Save the state of a sandbox and go back to it",
		Long: `Save the state of a sandbox and go back to it: objects of the API server,
vCenter inventories with volumes and their data, accounts and certificates, the
topology, files of pods, and the event log.

Snapshots are for simulated vCenters with an embedded cluster. "up --from" boots
another sandbox from one; "stop" and "start" use them, too.`,
		Example: `  vsphere-sandbox snapshot save before-upgrade
  vsphere-sandbox snapshot restore before-upgrade
  vsphere-sandbox snapshot list`,
	}, NewCmdSave(d, nil), NewCmdRestore(d, nil), NewCmdList(d, nil), NewCmdDelete(d, nil))
}

// Explain gives an error about a snapshot its exit status: a snapshot that cannot be used is a wrong input.
func Explain(err error) error {
	code, message, try := "", "", ""
	if c, ok := errors.AsType[*coded.Error](err); ok {
		code, message, try = c.Code, c.Error(), c.Try
	}
	if a, ok := errors.AsType[*api.Error](err); ok {
		code, message, try = a.Code, a.Message, a.Try
	}
	switch code {
	case snapshot.CodeDamaged, snapshot.CodeOther, snapshot.CodeNotFound, snapshot.CodeExists, snapshot.CodeName, "unsupported":
		return &report.Error{Code: code, Message: message, Try: try, Exit: report.Usage}
	}
	return err
}

// Dir returns the directory of the snapshot that a user names: a folder, SANDBOX/SNAPSHOT, or a snapshot of the sandbox with that name.
func Dir(root, sandbox, ref string) (string, error) {
	if _, err := os.Stat(filepath.Join(ref, "manifest.json")); err == nil {
		return filepath.Abs(ref)
	}
	of, name, other := strings.Cut(ref, "/")
	if !other {
		of, name = sandbox, ref
	}
	m, err := snapshot.In(root, of).Open(name)
	if err != nil {
		if other && coded.Is(err, snapshot.CodeName) {
			err = coded.New(snapshot.CodeNotFound, "vsphere-sandbox snapshot list", fs.ErrNotExist, "snapshot %q: no folder with a manifest.json, and no SANDBOX/SNAPSHOT", ref)
		}
		return "", err
	}
	return m.Path, nil
}

type options struct {
	*command.Deps

	name   string
	force  bool
	format string
}

// names completes snapshots of the sandbox.
func names(d *command.Deps) complete.Func {
	return func(_ *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		root, err := d.Sandboxes.Root()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		sandbox, _ := d.Name()
		all, _ := snapshot.In(root, sandbox).List()
		for _, s := range all {
			words = append(words, s.Name)
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// NewCmdSave returns the command; runF, when not nil, runs in its place.
func NewCmdSave(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{Deps: d}
	cmd := &cobra.Command{
		Use:   "save NAME",
		Short: "Save the state of a running sandbox",
		Long: `Save the state of a running sandbox as the snapshot NAME. Components other than
the control plane stand still for that time, usually less than a second.

Active faults must be healed first. Not saved: sessions, tasks and events of
vCenters, content libraries, and gates that "vcenter" changed.`,
		Example: `  vsphere-sandbox snapshot save before-upgrade
  vsphere-sandbox snapshot save before-upgrade --force
  vsphere-sandbox snapshot save before-upgrade -o json`,
		Args:              command.ExactlyOne("NAME"),
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return command.Or(runF, save)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "replace a snapshot of that name")
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	return cmd
}

func save(ctx context.Context, o *options) error {
	if err := Reserved(o.name); err != nil {
		return err
	}
	t, err := o.Connect(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	s, err := t.Client.SaveSnapshot(ctx, api.SaveRequest{Name: o.name, Replace: o.force})
	if err != nil {
		return Explain(t.Explain(ctx, err, 0))
	}
	if o.format != "" {
		return output.Object(o.Streams.Out, o.format, "Snapshot", s)
	}
	_, err = fmt.Fprintf(o.Streams.Out, "snapshot %s is saved in %.1fs: %d nodes, %d VMs, %d volumes, %d objects, %s\n",
		s.Name, time.Since(begin).Seconds(), s.Nodes, s.VMs, s.Volumes, s.Objects, size(s.Bytes))
	return err
}

// Reserved refuses names that "stop" and "start" use, and those that no snapshot can have.
func Reserved(name string) error {
	if err := snapshot.ValidateName(name); err != nil {
		return Explain(err)
	}
	if name == snapshot.Stopped || name == snapshot.LastStop {
		return report.UsageError("vsphere-sandbox snapshot save before-upgrade", "snapshot name %q is reserved for \"stop\" and \"start\"", name)
	}
	return nil
}

func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// NewCmdRestore returns the command; runF, when not nil, runs in its place.
func NewCmdRestore(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{Deps: d}
	cmd := &cobra.Command{
		Use:   "restore (NAME | SANDBOX/NAME | FOLDER)",
		Short: "Give a running sandbox the state of a snapshot",
		Long: `Give a running sandbox the state of a snapshot. What happened since is undone:
destroyed VMs and volumes come back with their UUIDs and data, new ones go.
Ports, kubeconfig and API server stay; vCenters, the cloud controller manager,
the CSI driver and kubelets start again. Watches of the Kubernetes API continue
and report the changes.

A snapshot of another format or Kubernetes minor release, or a damaged one, is
refused, and nothing is changed.

Exit status:
  0    the sandbox has the state of the snapshot
  1    the restore failed; the message says what to do
  2    the snapshot cannot be used`,
		Example: `  vsphere-sandbox snapshot restore before-upgrade
  vsphere-sandbox snapshot restore lab/before-upgrade`,
		Args:              command.ExactlyOne("NAME"),
		ValidArgsFunction: names(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return command.Or(runF, restore)(cmd.Context(), o)
		},
	}
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	return cmd
}

func restore(ctx context.Context, o *options) error {
	t, err := o.Connect(ctx)
	if err != nil {
		return err
	}
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	dir, err := Dir(root, t.Name, o.name)
	if err != nil {
		return Explain(err)
	}
	begin := time.Now()
	s, err := t.Client.RestoreSnapshot(ctx, api.RestoreRequest{Path: dir})
	if err != nil {
		return Explain(t.Explain(ctx, err, 0))
	}
	if o.format != "" {
		return output.Object(o.Streams.Out, o.format, "Snapshot", s)
	}
	_, err = fmt.Fprintf(o.Streams.Out, "snapshot %s is restored in %.1fs: %d nodes, %d VMs, %d volumes, as of %s\n",
		s.Name, time.Since(begin).Seconds(), s.Nodes, s.VMs, s.Volumes, s.SavedAt.Local().Format(time.DateTime))
	return err
}

type listOptions struct {
	*command.Deps

	flags output.Flags
}

// NewCmdList returns the command; runF, when not nil, runs in its place.
func NewCmdList(d *command.Deps, runF func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{Deps: d}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the snapshots of a sandbox",
		Long: `List the snapshots of a sandbox, running or not, oldest first. "stopped" is what
"stop" saved, "last-stop" what "start" has booted from.`,
		Example: `  vsphere-sandbox snapshot list
  vsphere-sandbox snapshot list -o json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return command.Or(runF, list)(cmd.Context(), o)
		},
	}
	o.flags.Bind(cmd)
	return cmd
}

// sandboxName is the name that was asked for, or that of the only sandbox that runs.
func sandboxName(ctx context.Context, d *command.Deps) string {
	name, asked := d.Name()
	if !asked {
		if s, err := d.Find(ctx); err == nil {
			name = s.Name
		}
	}
	return name
}

func list(ctx context.Context, o *listOptions) error {
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	name := sandboxName(ctx, o.Deps)
	all, err := snapshot.In(root, name).List()
	if err != nil {
		return err
	}
	type column = output.Column[api.Snapshot]
	number := func(f func(api.Snapshot) int) func(api.Snapshot) string {
		return func(s api.Snapshot) string {
			if s.Problem != "" {
				return "?"
			}
			return strconv.Itoa(f(s))
		}
	}
	kind := output.Kind[api.Snapshot]{
		Name: "Snapshot",
		Ref:  func(s api.Snapshot) string { return "snapshot/" + s.Name },
		Columns: []column{
			{Header: "NAME", Value: func(s api.Snapshot) string { return s.Name }},
			{Header: "SAVED", Value: func(s api.Snapshot) string {
				if s.SavedAt.IsZero() {
					return "?"
				}
				return s.SavedAt.Local().Format(time.DateTime)
			}},
			{Header: "TOPOLOGY", Value: func(s api.Snapshot) string { return cmp.Or(s.Topology, "?") }},
			{Header: "NODES", Value: number(func(s api.Snapshot) int { return s.Nodes })},
			{Header: "VMS", Value: number(func(s api.Snapshot) int { return s.VMs })},
			{Header: "VOLUMES", Value: number(func(s api.Snapshot) int { return s.Volumes })},
			{Header: "SIZE", Value: func(s api.Snapshot) string { return size(s.Bytes) }},
			{Header: "KUBERNETES", Value: func(s api.Snapshot) string { return s.Kubernetes }},
			{Header: "VERSION", Wide: true, Value: func(s api.Snapshot) string { return s.Version }},
			{Header: "PATH", Wide: true, Value: func(s api.Snapshot) string { return s.Path }},
			{Header: "PROBLEM", Wide: true, Cut: true, Value: func(s api.Snapshot) string { return s.Problem }},
		},
	}
	if err := output.List(o.Streams.Out, o.flags, kind, all); err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintf(o.Streams.Err, "sandbox %q has no snapshots\n", name)
	}
	for _, s := range all {
		if s.Problem != "" {
			fmt.Fprintln(o.Streams.Err, "note:", s.Problem)
		}
	}
	return nil
}

// NewCmdDelete returns the command; runF, when not nil, runs in its place.
func NewCmdDelete(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{Deps: d}
	cmd := &cobra.Command{
		Use:     "delete NAME",
		Aliases: []string{"rm"},
		Short:   "Delete a snapshot",
		Long: `Delete a snapshot of a sandbox, running or not. The sandbox does not change. The
snapshot "stopped" is the state of a stopped sandbox: "down" deletes that.`,
		Example:           `  vsphere-sandbox snapshot delete before-upgrade`,
		Args:              command.ExactlyOne("NAME"),
		ValidArgsFunction: names(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return command.Or(runF, remove)(cmd.Context(), o)
		},
	}
	return cmd
}

func remove(ctx context.Context, o *options) error {
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	if o.name == snapshot.Stopped {
		return report.UsageError("vsphere-sandbox down   # deletes the sandbox", "snapshot %q is the only state of a sandbox that is stopped", o.name)
	}
	if err := snapshot.In(root, sandboxName(ctx, o.Deps)).Delete(o.name); err != nil {
		return Explain(err)
	}
	_, err = fmt.Fprintf(o.Streams.Out, "snapshot %s is deleted\n", o.name)
	return err
}
