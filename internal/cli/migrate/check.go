package migrate

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
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
	if runF == nil {
		runF = runCheck
	}
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Tell what stands in the way of a migration",
		Long: `Look at a cluster and its vCenters, and tell what has to be mended before it is
led from the in-tree vSphere provider to the cloud controller manager and the
CSI driver. It only reads.

  nodes      their VMs by system UUID in both byte orders and by provider ID,
             disk.enableUUID, hardware version, tools, hostnames, addresses
  zones      tag categories, tags that are missing, contradict each other or are
             in the wrong place, labels of both generations
  accounts   the privileges of the cloud controller manager and the CSI driver
  vCenters   certificate, login, release
  volumes    PersistentVolumes and StorageClasses of the in-tree provider, what
             they are translated to, whether their disks are there, who uses
             them
  progress   flags, taints and provider IDs, CSIDriver and CSINodes

The cluster is that of --kubeconfig and --context, or the sandbox's. Its
vCenters are those of --vcenter-config, or of FILE, the old vsphere.conf; where
that names a Secret, it is read from the cluster. A sandbox's vCenters need not
be named.

Passwords are used to log in, and told to nobody.

Exit status: 0 when nothing fails, 2 for a bad flag or file, 3 when a check
fails, 4 when the cluster cannot be asked.`,
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
			if err := o.real.Unasked(cmd); err != nil {
				return err
			}
			if o.force && o.old == "" {
				return report.UsageError(command.Program+" migrate check FILE --force", noForce)
			}
			return runF(cmd.Context(), o)
		},
	}
	o.bind(cmd)
	cmd.Flags().BoolVar(&o.force, "force", false, "go past what is not known of FILE")
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
		Client: w.client, Cluster: w.name, VCenters: w.vcenters, CSI: w.csi, Selection: w.selection, Datastores: datastores,
		UserAgent: vcenterconfig.UserAgent(), OnStep: progress.Step,
	})
	if err != nil {
		return nil, w.explain(ctx, err)
	}
	return r, nil
}

// failed is the error where a finding says that something is to be mended first.
func failed(r *check.Report) error {
	n := r.Count(check.Fail)
	if n == 0 {
		return nil
	}
	return &report.Error{
		Code: "not-ready", Exit: report.Degraded, Message: fmt.Sprintf("%d of %d checks fail: the cluster is not ready to be migrated", n, len(r.Findings)),
		Try: "mend what fails, and check once more",
	}
}
