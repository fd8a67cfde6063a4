package migrate

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	migration "github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/steps"
)

type planOptions struct {
	streams *iostreams.Streams
	target

	old       string
	files     string
	clusterID string
	out       string
	force     bool
	format    string
}

// NewCmdPlan returns the command; runF, when not nil, runs in its place.
func NewCmdPlan(d *command.Deps, runF func(context.Context, *planOptions) error) *cobra.Command {
	o := &planOptions{streams: d.Streams, target: target{deps: d}}
	if runF == nil {
		runF = runPlan
	}
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Write the migration steps for this cluster",
		Long: `Write the steps to migrate a cluster from the in-tree vSphere provider to the
cloud controller manager and the CSI driver. Each step has its commands, a
check, and the commands to undo it.

FILE is the old vsphere.conf; "-" reads standard input. The command reads the
cluster and its vCenters as migrate check does, and writes the steps for what it
finds: what to fix first, nodes and VMs, StorageClasses, volumes. Steps that are
already done are left out.

The plan is Markdown, or data with -o. Nothing is executed.

Exit status:
  0    the plan was written, even if something must be fixed first
  2    wrong flag or file
  4    the cluster cannot be reached`,
		Example: `  vsphere-sandbox migrate plan vsphere.conf --context prod
  vsphere-sandbox migrate plan vsphere.conf --context prod --out plan.md
  vsphere-sandbox migrate plan vsphere.conf --kubeconfig admin.conf -o json`,
		Args:              command.ExactlyOne("FILE"),
		ValidArgsFunction: complete.OneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.old = args[0]
			if err := o.real.Unasked(cmd); err != nil {
				return err
			}
			if o.files == "" {
				return report.UsageError("--files migration", "--files is empty")
			}
			return runF(cmd.Context(), o)
		},
	}
	o.bind(cmd)
	f := cmd.Flags()
	f.StringVar(&o.files, "files", "migration", "`FOLDER` for migrate config in the plan")
	f.StringVar(&o.clusterID, "cluster-id", "", "`ID` of this cluster for the CSI driver")
	f.StringVar(&o.out, "out", "", "`FILE` to write the plan to (default: standard output)")
	f.BoolVar(&o.force, "force", false, "ignore unknown sections and keys of FILE; overwrite --out")
	_ = cmd.MarkFlagDirname("files") // its only error is an unknown flag
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	return cmd
}

func runPlan(ctx context.Context, o *planOptions) error {
	if err := o.vacant(); err != nil { // before anybody is asked
		return err
	}
	src, err := readSource(o.streams.In, o.old)
	if err != nil {
		return err
	}
	// A file that cannot be converted is an error before any call.
	m, err := migration.Convert(src, migration.Options{ClusterID: o.clusterID, Force: o.force})
	if err != nil {
		return refused(src.Name, o.old, err)
	}
	s, err := o.open(ctx, src, o.force)
	if err != nil {
		return err
	}
	r, err := s.check(ctx, o.streams, steps.Datastores(src))
	if err != nil {
		return err
	}
	p := steps.New(steps.Input{
		Report: r, Config: m, Old: o.old, Folder: o.files, ClusterID: o.clusterID, Force: o.force, Datastores: steps.Datastores(src),
		Kubeconfig: o.kubeconfig, Context: o.context, Sandbox: s.sandbox,
		VCenters: o.real.Config(), CSI: o.csi, Choice: o.real.Choice(),
	})
	return o.write(p)
}

func (o *planOptions) print(w io.Writer, p *steps.Plan) error {
	if o.format != output.Text {
		return output.Object(w, o.format, "MigrationPlan", p)
	}
	_, err := io.WriteString(w, p.Markdown())
	return err
}

// NewCmdMigrate returns the group of commands.
func NewCmdMigrate(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "migrate",
		Short: "Migrate a cluster from the in-tree vSphere provider",
		Long: `Migrate a cluster from the in-tree vSphere provider, or from an INI vsphere.conf
of cloud-provider-vsphere, to the current CCM and CSI driver.`,
		Example: `  vsphere-sandbox migrate check vsphere.conf --context prod
  vsphere-sandbox migrate config vsphere.conf --out new
  vsphere-sandbox migrate roles vsphere.conf
  vsphere-sandbox migrate plan vsphere.conf --context prod --out plan.md`,
	}, NewCmdCheck(d, nil), NewCmdConfig(d, nil), NewCmdPlan(d, nil), NewCmdRoles(d, nil))
}
