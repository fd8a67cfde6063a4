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
		Short: "Write the steps of a migration, for this cluster",
		Long: `Write what is to be done, in which order, to lead a cluster from the in-tree
vSphere provider to the cloud controller manager and the CSI driver: each step
with its commands, how to see that it has worked, and the way back.

FILE is the old vsphere.conf; "-" is standard input. The cluster and its
vCenters are looked at as migrate check does, which only reads, and the steps
are for what it finds: nodes and VMs by their names, what fails and is to be
mended first, the StorageClasses, the volumes. What is seen to be done already
is left out.

The plan is Markdown, or the same as data with -o. Nothing of it is carried out.

Exit status: 0 when the plan is written, though it may begin with what is to be
mended; 2 for a bad flag or file, 4 when the cluster cannot be asked.`,
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
	f.StringVar(&o.files, "files", "migration", "`FOLDER` that the plan has migrate config write to")
	f.StringVar(&o.clusterID, "cluster-id", "", "`ID` of this cluster for the CSI driver")
	f.StringVar(&o.out, "out", "", "`FILE` to write the plan to (default: standard output)")
	f.BoolVar(&o.force, "force", false, "drop what is not known of the old file; replace the file of --out")
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
	// What cannot be converted is told before anybody is asked.
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
