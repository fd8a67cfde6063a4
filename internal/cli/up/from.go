package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	snapshots "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// passing lists the flags that are about one start of a sandbox, and not about what it is: a snapshot does not have them.
func passing() []string {
	return []string{
		"name", "detach", "detached", "dry-run", "from", "resume", "retain", "tui", "output", "set", "api-port", "vcenter-port",
		"ignore-preflight-errors", "theme", "ascii", "no-mouse", "read-only",
	}
}

// settings returns the flags that were set, for a snapshot.
func settings(flags *pflag.FlagSet) map[string][]string {
	all := map[string][]string{}
	flags.Visit(func(f *pflag.Flag) {
		switch values, several := f.Value.(pflag.SliceValue); {
		case slices.Contains(passing(), f.Name):
		case several:
			all[f.Name] = values.GetSlice()
		default:
			all[f.Name] = []string{f.Value.String()}
		}
	})
	return all
}

// openFrom reads the snapshot of --from, and sets the flags that the user has not set as they were then.
func (o *options) openFrom(cmd *cobra.Command, args []string) error {
	if o.from == "" {
		return nil
	}
	switch {
	case len(args) > 0:
		return report.UsageError("vsphere-sandbox up --from "+o.from, "%s: the topology is that of the snapshot: none goes with --from", args[0])
	case len(o.set) > 0:
		return report.UsageError("vsphere-sandbox up --from "+o.from, "--set is about the parameters of a topology: none goes with --from")
	}
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	name, _ := o.Name()
	dir, err := snapshots.Dir(root, name, o.from)
	if err != nil {
		return snapshots.Explain(err)
	}
	m, err := snapshot.Read(dir)
	if err != nil {
		return snapshots.Explain(err)
	}
	o.from, o.snapshot = dir, m
	if o.detached { // its arguments are those of a process that has read them; the default of a flag is none of them
		return nil
	}
	for name, values := range m.Settings {
		f := cmd.Flags().Lookup(name)
		if f == nil || f.Changed || slices.Contains(passing(), name) {
			continue
		}
		if several, ok := f.Value.(pflag.SliceValue); ok {
			err = several.Replace(values)
			f.Changed = true
		} else if len(values) == 1 {
			err = cmd.Flags().Set(name, values[0])
		}
		if err != nil {
			return fmt.Errorf("--%s of snapshot %q: %w", name, m.Name, err)
		}
	}
	return nil
}

// loadFrom checks the options against the snapshot, and takes its topology.
func (o *options) loadFrom() (err error) {
	m := o.snapshot
	if !o.embedded() || o.realFlags.IsSet() {
		return report.UsageError("vsphere-sandbox up --from "+o.from, "--from is for simulated vCenters with an embedded cluster")
	}
	if m.CSI != (o.csi.Driver != csi.Off) {
		return report.UsageError("leave --csi and --ccm none out", "--csi %s: snapshot %q was saved with the other choice, and its cluster fits that", o.csi.Driver, m.Name)
	}
	o.topology, err = topology.LoadFile(filepath.Join(m.Path, snapshot.Topology))
	if errors.Is(err, fs.ErrNotExist) {
		return snapshots.Explain(m.Verify())
	}
	if o.resume {
		o.port = m.APIPort
	}
	return cmp.Or(err, o.csi.CheckTopology(o.topology), o.checkBalancer())
}

// checkFrom verifies the snapshot before anything is created.
func (o *options) checkFrom(kubernetes string) error {
	if o.snapshot == nil {
		return o.checkStopped()
	}
	if err := o.snapshot.CheckKubernetes(kubernetes); err != nil {
		return snapshots.Explain(err)
	}
	return snapshots.Explain(o.snapshot.Verify())
}

// checkStopped refuses to boot another sandbox in the place of one that was stopped.
func (o *options) checkStopped() error {
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	m, err := snapshot.In(root, o.name).Open(snapshot.Stopped)
	if err != nil {
		return nil
	}
	return &report.Error{
		Code: "stopped", Message: fmt.Sprintf("sandbox %q was stopped at %s, and its state is kept", o.name, m.SavedAt.Local().Format(time.DateTime)), Exit: report.Usage,
		Try: fmt.Sprintf("vsphere-sandbox start --name %s\nvsphere-sandbox down --name %[1]s   # deletes that state", o.name),
	}
}

// NewCmdStart returns the command; runF, when not nil, runs in its place.
func NewCmdStart(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	var name string
	var foreground bool
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Start a sandbox that was stopped",
		Long: `Start a sandbox that "stop" has stopped: with the same objects, VMs, volumes and
data, at the same ports, and with the same kubeconfig. It runs in the
background.

A sandbox that crashed or was killed was not saved at its end. Then the command
lists its snapshots; --snapshot starts it with one of them.

Exit status:
  0    the sandbox is ready
  1    failed to start
  2    the sandbox was not stopped, or its snapshot cannot be used
  4    a port is in use, or this machine lacks another prerequisite`,
		Example: `  vsphere-sandbox start
  vsphere-sandbox start --name lab
  vsphere-sandbox start --name lab --snapshot before-upgrade`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sandbox, _ := d.Name()
			if err := instance.ValidateName(sandbox); err != nil {
				return report.UsageError("--name lab", "%v", err)
			}
			if err := startable(cmd.Context(), d, sandbox, name); err != nil {
				return err
			}
			// All that "up" does, with the flags of the snapshot.
			up := NewCmdUp(d, runF)
			args := []string{"--from=" + sandbox + "/" + name, "--resume"}
			if !foreground {
				args = append(args, "--detach")
			}
			up.SetContext(cmd.Context())
			if err := up.ParseFlags(args); err != nil {
				return err
			}
			return up.RunE(up, nil)
		},
	}
	cmd.Flags().StringVar(&name, "snapshot", snapshot.Stopped, "start with the snapshot `NAME` of the sandbox")
	cmd.Flags().BoolVar(&foreground, "foreground", false, "keep it in the foreground, as \"up\" does")
	return cmd
}

// startable returns why a sandbox cannot be started with a snapshot, and what it has.
func startable(ctx context.Context, d *command.Deps, sandbox, name string) error {
	root, err := d.Sandboxes.Root()
	if err != nil {
		return err
	}
	if err := instance.CheckFree(root, sandbox); err != nil {
		return &report.Error{Code: "running", Message: err.Error(), Try: "vsphere-sandbox status --name " + sandbox, Exit: report.Usage}
	}
	folder := snapshot.In(root, sandbox)
	_, err = folder.Open(name)
	if err == nil {
		return nil
	}
	all, lerr := folder.List()
	if lerr != nil {
		return lerr
	}
	if name != snapshot.Stopped {
		return snapshots.Explain(err)
	}
	how := "was not stopped"
	if list, err := d.Sandboxes.List(ctx); err == nil {
		for _, s := range list {
			if s.Name == sandbox && s.State() == command.Crashed {
				how = "crashed or was killed, and what it had since its last snapshot is lost"
			}
		}
	}
	if len(all) == 0 {
		return &report.Error{
			Code: "no-sandbox", Message: fmt.Sprintf("sandbox %q %s, and it has no snapshots", sandbox, how), Exit: report.Usage,
			Try: "vsphere-sandbox list\nvsphere-sandbox up --name " + sandbox,
		}
	}
	last := all[len(all)-1]
	return &report.Error{
		Code: "not-stopped", Exit: report.Usage,
		Message: fmt.Sprintf("sandbox %q %s; it has %d snapshots, the last one is %q of %s", sandbox, how, len(all), last.Name, last.SavedAt.Local().Format(time.DateTime)),
		Try:     fmt.Sprintf("vsphere-sandbox start --name %s --snapshot %s\nvsphere-sandbox snapshot list --name %[1]s", sandbox, last.Name),
	}
}
