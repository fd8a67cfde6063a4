package migrate

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubeconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	migration "github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

type checkOptions struct {
	streams *iostreams.Streams
	target

	old    string
	force  bool
	format string
}

// NewCmdCheck returns the command; runF, when not nil, runs in its place.
func NewCmdCheck(d *command.Deps, runF func(context.Context, *checkOptions) error) *cobra.Command {
	o := &checkOptions{streams: d.Streams, target: target{deps: d}}
	runF = command.Or(runF, runCheck)
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check whether a cluster can be migrated",
		Long: `Check whether a cluster can be migrated from the in-tree vSphere provider to the
cloud controller manager and the CSI driver, and list what to fix first. It only
reads.

  nodes      their VMs by system UUID in both byte orders and by provider ID,
             disk.enableUUID, hardware version, tools, hostnames, addresses
  zones      tag categories; missing, contradicting or misplaced tags; labels of
             both generations
  accounts   the privileges of the CCM and the CSI driver
  vCenters   certificate, login, release
  volumes    PersistentVolumes and StorageClasses of the in-tree provider, their
             translation, whether their disks exist, and which pods use them
  progress   flags, taints and provider IDs, CSIDriver and CSINodes

The cluster is that of --kubeconfig and --context, or the sandbox's. Its
vCenters are those of --vcenter-config, or of FILE, the old vsphere.conf. If
FILE names a Secret, it is read from the cluster. For a sandbox, no vCenters
need to be given.

Passwords are used only to log in; they are not printed.

Exit status:
  0    no check failed
  2    wrong flag or file
  3    a check failed
  4    the cluster cannot be reached`,
		Example: `  vsphere-sandbox migrate check
  vsphere-sandbox migrate check vsphere.conf --context prod
  vsphere-sandbox migrate check --vcenter-config env --kubeconfig admin.conf
  vsphere-sandbox migrate check vsphere.conf --context prod -o json`,
		Args:              command.AtMostOne,
		ValidArgsFunction: complete.OneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.old = args[0]
			}
			if err := o.real.CheckUnset(cmd); err != nil {
				return err
			}
			if o.force && o.old == "" {
				return report.UsageError(command.Program+" migrate check FILE --force", noForce)
			}
			return runF(cmd.Context(), o)
		},
	}
	o.bind(cmd)
	cmd.Flags().BoolVar(&o.force, "force", false, "ignore unknown sections and keys of FILE")
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	return cmd
}

const noForce = "--force is about a FILE, and none is named"

func runCheck(ctx context.Context, o *checkOptions) error {
	var old migration.Source
	if o.old != "" {
		var err error
		if old, err = readSource(o.streams.In, o.old); err != nil {
			return err
		}
	}
	w, err := o.open(ctx, old, o.force)
	if err != nil {
		return err
	}
	r, err := w.check(ctx, o.streams, nil)
	if err != nil {
		return err
	}
	if o.format != output.Text {
		err = output.Object(o.streams.Out, o.format, "MigrationCheck", r)
	} else {
		_, err = io.WriteString(o.streams.Out, checkText(r))
	}
	if err != nil {
		return err
	}
	return failed(r)
}

// check looks at everything, and says what is being waited for. datastores are more of them whose URLs are wanted.
func (w *subject) check(ctx context.Context, streams *iostreams.Streams, datastores []string) (*check.Report, error) {
	for _, warning := range w.vcenters.Warnings {
		fmt.Fprintln(streams.Err, "warning:", printable.Line(warning))
	}
	progress := vcenterconfig.NewProgress(streams.Err, streams.ErrTTY())
	defer progress.Close()
	r, err := check.Run(ctx, check.Input{
		Client: w.Client, Cluster: w.Name, VCenters: w.vcenters, CSI: w.csi, Selection: w.selection, Datastores: datastores,
		UserAgent: vcenterconfig.UserAgent(), OnStep: progress.Step,
	})
	if err != nil {
		return nil, kubeconfig.Explain(ctx, w.Name, report.Prerequisite, err)
	}
	return r, nil
}

// failed returns the error for a report with a finding that fails.
func failed(r *check.Report) error {
	n := r.Count(check.Fail)
	if n == 0 {
		return nil
	}
	return &report.Error{
		Code: "not-ready", Exit: report.Degraded, Message: fmt.Sprintf("%d of %d checks fail: the cluster is not ready to be migrated", n, len(r.Findings)),
		Try: "fix what fails, and run the check again",
	}
}

// checkText is a report as it is read: nodes, volumes, findings with what to do below those that do not pass.
func checkText(r *check.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "cluster %s %s\nnodes: %d, vCenters: %d, of the in-tree provider: volumes: %d, classes: %d\n",
		r.Cluster, r.Version, len(r.Nodes), len(r.VCenters), len(r.Volumes), len(r.Classes))
	section(&b, nodeKind(), r.Nodes)
	section(&b, volumeKind(), r.Volumes)
	b.WriteByte('\n')
	var table strings.Builder
	_ = output.List(&table, output.Flags{Format: output.Plain}, findingKind(), r.Findings) // a builder takes everything
	for i, line := range strings.SplitAfter(table.String(), "\n") {
		b.WriteString(line)
		if i == 0 || i > len(r.Findings) {
			continue
		}
		if f := r.Findings[i-1]; f.Verdict != check.Pass {
			fmt.Fprintf(&b, "    why: %s\n    try: %s\n", printable.Line(f.Why), printable.Line(f.Try))
		}
	}
	fmt.Fprintf(&b, "\n%d pass, %d warn, %d fail\n", r.Count(check.Pass), r.Count(check.Warn), r.Count(check.Fail))
	return b.String()
}

// section is a table after an empty line, where there is anything in it.
func section[T any](b *strings.Builder, kind output.Kind[T], items []T) {
	if len(items) == 0 {
		return
	}
	b.WriteByte('\n')
	_ = output.List(b, output.Flags{Format: output.Plain}, kind, items) // a builder takes everything
}

func nodeKind() output.Kind[check.Node] {
	vm := func(f func(*check.VM) string) func(check.Node) string {
		return func(n check.Node) string {
			if n.VM == nil {
				return ""
			}
			return f(n.VM)
		}
	}
	return output.Kind[check.Node]{
		Name: "Node", Ref: func(n check.Node) string { return "node/" + n.Name },
		Columns: []output.Column[check.Node]{
			{Header: "NODE", Value: func(n check.Node) string { return n.Name }},
			{Header: "VM", Value: vm(func(v *check.VM) string { return v.Path })},
			{Header: "VCENTER", Value: vm(func(v *check.VM) string { return v.VCenter })},
			{Header: "FOUND-BY", Value: vm(func(v *check.VM) string { return v.Match })},
			{Header: "HARDWARE", Value: vm(func(v *check.VM) string { return v.HardwareVersion })},
			{Header: "DISK-UUID", Value: vm(func(v *check.VM) string { return output.YesNo(v.DiskUUID) })},
			{Header: "ZONE", Value: vm(func(v *check.VM) string { return strings.Trim(v.Region+"/"+v.Zone, "/") })},
			{Header: "PROVIDER-ID", Value: func(n check.Node) string { return output.YesNo(n.ProviderID != "") }},
			{Header: "CSI", Value: func(n check.Node) string { return output.YesNo(n.Driver) }},
			{Header: "MIGRATED", Value: func(n check.Node) string { return output.YesNo(n.Migrated) }},
		},
	}
}

func volumeKind() output.Kind[check.Volume] {
	return output.Kind[check.Volume]{
		Name: "Volume", Ref: func(v check.Volume) string { return "volume/" + v.Name },
		Columns: []output.Column[check.Volume]{
			{Header: "VOLUME", Value: func(v check.Volume) string { return v.Name }},
			{Header: "DISK", Value: func(v check.Volume) string { return v.Path }},
			{Header: "VCENTER", Value: func(v check.Volume) string { return v.VCenter }},
			{Header: "STATE", Value: func(v check.Volume) string {
				state, _, _ := strings.Cut(v.Disk, ":")
				return state
			}},
			{Header: "PHASE", Value: func(v check.Volume) string { return v.Phase }},
			{Header: "CLAIM", Value: func(v check.Volume) string { return v.Claim }},
			{Header: "PODS", Value: func(v check.Volume) string { return output.Join(v.Pods) }},
		},
	}
}

func findingKind() output.Kind[check.Finding] {
	return output.Kind[check.Finding]{
		Name: "Finding", Ref: func(f check.Finding) string { return "finding/" + f.Where + "/" + f.Check },
		Columns: []output.Column[check.Finding]{
			{Header: "VERDICT", Value: func(f check.Finding) string { return string(f.Verdict) }},
			{Header: "CHECK", Value: func(f check.Finding) string { return f.Check }},
			{Header: "WHERE", Value: func(f check.Finding) string { return f.Where }},
			{Header: "FOUND", Value: func(f check.Finding) string { return f.Found }},
		},
	}
}
