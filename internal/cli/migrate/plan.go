package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
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
	runF = command.Or(runF, runPlan)
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
			if err := o.real.CheckUnset(cmd); err != nil {
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

// vacant checks that the file of --out does not exist, or may be replaced.
func (o *planOptions) vacant() error {
	if o.out == "" {
		return nil
	}
	is, err := os.Stat(o.out)
	if err != nil {
		return nil // whether it can be made shows when it is
	}
	if was, err := os.Stat(o.old); err == nil && os.SameFile(was, is) {
		return report.UsageError("--out with another file", "%s would be replaced by its own plan", o.old)
	}
	if !o.force {
		return o.exists()
	}
	return nil
}

func (o *planOptions) exists() error {
	return &report.Error{Code: "file-exists", Message: o.out + " already exists", Try: "name another file\n--force   # to overwrite it", Exit: report.Usage}
}

// write writes the plan to standard output or to the file, which it writes completely or not at all.
func (o *planOptions) write(p *steps.Plan) error {
	if o.out == "" {
		return o.print(o.streams.Out, p)
	}
	var text bytes.Buffer
	if err := o.print(&text, p); err != nil {
		return err
	}
	err := o.put(text.Bytes())
	switch {
	case errors.Is(err, fs.ErrExist) && !o.force: // another process was faster
		return o.exists()
	case err != nil:
		return &report.Error{
			Code: "file-unwritable", Message: err.Error(), Exit: report.Prerequisite, Try: "--out with a file in an existing folder that you can write to",
		}
	}
	fmt.Fprintf(o.streams.Err, "%s: %d steps\n", o.out, len(p.Steps))
	return nil
}

// put writes the file. It replaces an existing one atomically, and keeps its permissions.
func (o *planOptions) put(text []byte) error {
	f, err := os.OpenFile(o.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) && o.force {
		return o.replace(text)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(o.out))
	}
	return nil
}

func (o *planOptions) replace(text []byte) error {
	is, err := os.Stat(o.out)
	if err != nil {
		return err
	}
	f, err := atomicfile.Create(o.out, 0o600)
	if err != nil {
		return err
	}
	defer f.Discard()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(is.Mode().Perm())); err != nil {
		return err
	}
	return f.Commit()
}
