// Package down is the command that ends sandboxes.
package down

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/attach"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/home"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/leftovers"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
)

type options struct {
	*command.Deps

	all     bool
	keep    bool // the snapshots
	timeout time.Duration
	limited bool // the timeout was asked for
}

// NewCmdDown returns the command; runF, when not nil, runs in its place.
func NewCmdDown(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{Deps: d}
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop a sandbox and delete its state",
		Long: `Stop a sandbox and delete its state: nodes, cluster, vCenters, its directory and
its snapshots. Use it also to clean up after a sandbox that crashed or was
killed.

Changes that the sandbox made to real vCenters are undone. What cannot be
removed or undone is an error. A sandbox that does not exist counts as stopped.`,
		Example: `  vsphere-sandbox down
  vsphere-sandbox down --name lab
  vsphere-sandbox down --all`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.limited = cmd.Flags().Changed("timeout")
			return command.Or(runF, run)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "stop all sandboxes of this state directory")
	cmd.Flags().BoolVar(&o.keep, "keep-snapshots", false, "keep the snapshots that \"snapshot save\" made, for \"up --from\"")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 30*time.Second, "time to wait before the sandbox is killed; default "+kind.StopTime.String()+" on kind, "+attach.StopTime.String()+" in an existing cluster")
	return cmd
}

func run(ctx context.Context, o *options) error {
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	if !o.all {
		name, _ := o.Name()
		if err := instance.ValidateName(name); err != nil {
			return report.UsageError("--name lab", "%v", err)
		}
		s, err := o.Find(ctx)
		if absent(err) {
			if err := o.writes(ctx, root, name); err != nil {
				return err
			}
			if deleted, err := o.forget(root, name); err != nil || deleted {
				return err
			}
			return nothing(o, root, name)
		}
		if err != nil {
			return unreadable(err)
		}
		if err := end(ctx, o, root, s); err != nil {
			return err
		}
		_, err = o.forget(root, s.Name)
		return err
	}
	all, err := o.Sandboxes.List(ctx)
	if err != nil {
		return unreadable(err)
	}
	var errs []error
	for _, s := range all {
		errs = append(errs, end(ctx, o, root, s))
	}
	// Of some there is nothing left but what they have written to real vCenters.
	written, err := leftovers.Unreverted(root)
	errs = append(errs, err)
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if !slices.ContainsFunc(all, func(s command.Sandbox) bool { return s.Name == name }) {
			errs = append(errs, o.writes(ctx, root, name))
		}
	}
	stopped, err := snapshot.Sandboxes(root)
	errs = append(errs, err)
	for _, name := range stopped {
		_, err := o.forget(root, name)
		errs = append(errs, err)
	}
	if len(all)+len(written)+len(stopped) == 0 {
		fmt.Fprintln(o.Streams.Err, "no sandbox is up: nothing to do")
	}
	return errors.Join(errs...)
}

// forget deletes the snapshots of a sandbox that does not run, and reports whether there were any. With --keep-snapshots, only what
// "stop" saved goes.
func (o *options) forget(root, name string) (deleted bool, err error) {
	folder, n := snapshot.In(root, name), 0
	if o.keep {
		for _, own := range []string{snapshot.Stopped, snapshot.LastStop} {
			switch err := folder.Delete(own); {
			case err == nil:
				n++
			case !coded.Is(err, snapshot.CodeNotFound):
				return false, err
			}
		}
	} else if n, err = folder.DeleteAll(); err != nil {
		return false, err
	}
	if n > 0 {
		fmt.Fprintf(o.Streams.Err, "sandbox %q: %s deleted\n", name, shorten.Count(n, "snapshot"))
	}
	return n > 0, nil
}

// absent reports whether err means that the sandbox does not exist, and not an unknown or ambiguous name.
func absent(err error) bool {
	var e *report.Error
	return errors.As(err, &e) && e.Code == "no-sandbox"
}

// nothing says that there is nothing to do for a sandbox that is in no list. Lists leave out what cannot be read, which
// may well be a sandbox: that is an error.
func nothing(o *options, root, name string) error {
	_, err := instance.Open(root, name)
	var missing instance.ErrNotFound
	if err != nil && !errors.As(err, &missing) {
		return unreadable(err)
	}
	fmt.Fprintf(o.Streams.Err, "sandbox %q is not up: nothing to do\n", name)
	if near := nearest.Of(name, missing.Have); near != "" {
		fmt.Fprintf(o.Streams.Err, "try: %s down --name %s\n", command.Typed(os.Args[0]), near)
	}
	return nil
}

// unreadable gives the error of a look at the state directory its code, if it is that the user may not.
func unreadable(err error) error {
	if !errors.Is(err, fs.ErrPermission) || report.State(err) != nil {
		return err
	}
	return &report.Error{
		Code: "state-unreadable", Message: "the state directory cannot be read", Err: err, Exit: report.Prerequisite,
		Try: "run it as the user who started the sandbox, or export VSPHERE_SANDBOX_STATE=DIR that is yours",
	}
}

// end ends one sandbox: by asking it, by force when it does not answer, by cleaning up when it is dead, or has not been able to.
func end(ctx context.Context, o *options, root string, s command.Sandbox) error {
	if s.Running {
		gone, err := ask(ctx, o, root, s)
		if err != nil {
			return err
		}
		if gone && !remains(root, s.Name) {
			fmt.Fprintf(o.Streams.Err, "sandbox %q: down\n", s.Name)
			return o.writes(ctx, root, s.Name) // one before it may have left some, or it could not itself
		}
	}
	if err := leftovers.Sweep(ctx, root, s.Name, func(text string) { fmt.Fprintf(o.Streams.Err, "sandbox %q: %s\n", s.Name, text) }); err != nil {
		return home.ExplainRun(err, s.Name, "")
	}
	left, err := instance.Reap(ctx, root, s.Name)
	// A successor has cleaned up before it took the name, and is not the one that was to end.
	if err != nil && !errors.As(err, new(instance.ErrNotFound)) && !errors.As(err, new(instance.ErrRunning)) {
		return err
	}
	if err := o.writes(ctx, root, s.Name); err != nil {
		return err
	}
	fmt.Fprintf(o.Streams.Err, "sandbox %q: cleaned up (%d processes were left)\n", s.Name, len(left.Killed))
	return nil
}

// remains reports whether the directory of a dead sandbox still exists: it was kept, or lists something that is left
// elsewhere.
func remains(root, name string) bool {
	d, err := instance.Open(root, name)
	if err != nil { // it cannot tell of anything
		return false
	}
	_, running := d.Running()
	return !running
}

// writes takes back what a dead sandbox has written to real vCenters.
func (o *options) writes(ctx context.Context, root, name string) error {
	return leftovers.Writes(ctx, filepath.Join(root, name), o.Getenv, func(text string) { fmt.Fprintf(o.Streams.Err, "sandbox %q: %s\n", name, text) })
}

// ask asks a sandbox to end and waits until it has. It returns false for one that had to be killed and left things.
func ask(ctx context.Context, o *options, root string, s command.Sandbox) (gone bool, err error) {
	fmt.Fprintf(o.Streams.Err, "sandbox %q: stopping\n", s.Name)
	if process := instance.Observe(s.PID); process.PID != os.Getpid() {
		defer func() {
			if gone || err == nil {
				err = errors.Join(err, exited(ctx, s.Name, process))
			}
		}()
	}
	patience := o.patience(root, s.Name)
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := api.NewClient(s.Socket).Stop(limit); err != nil && ctx.Err() == nil && s.PID > 0 {
		// It may be starting, and have no socket yet, or be stuck: TERM asks the same.
		if still, err := alive(root, s); err != nil || !still {
			return err == nil, err
		}
		_ = syscall.Kill(s.PID, syscall.SIGTERM)
	}
	switch gone, err := await(limit, root, s); {
	case gone || err != nil:
		return gone, err
	case ctx.Err() != nil:
		return false, ctx.Err()
	case s.PID == 0:
		return false, &report.Error{Code: "stuck", Message: fmt.Sprintf("sandbox %q does not end and has no known process", s.Name)}
	}
	if still, err := alive(root, s); err != nil || !still {
		return err == nil, err // it has ended this moment, and its number may be another's
	}
	fmt.Fprintf(o.Streams.Err, "sandbox %q: did not end within %s, killed\n", s.Name, patience)
	if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return false, fmt.Errorf("sandbox %q: process %d: %w", s.Name, s.PID, err)
	}
	death, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if dead, err := await(death, root, s); err != nil || dead {
		return false, err
	}
	return false, fmt.Errorf("sandbox %q: killed and still there: %w", s.Name, death.Err())
}

// exitTime is how long a process may take to be gone that has given up its directory: it has nothing left to do.
const exitTime = 10 * time.Second

// exited waits until the process of a sandbox is gone: a script that ends one may start its successor, or count processes.
func exited(ctx context.Context, name string, process instance.Process) error {
	ctx, cancel := context.WithTimeout(ctx, exitTime)
	defer cancel()
	if err := instance.AwaitExit(ctx, process); err != nil {
		return &report.Error{
			Code: "stuck", Message: fmt.Sprintf("sandbox %q is down, and its process is still there", name), Err: err, Try: fmt.Sprintf("kill -9 %d", process.PID),
		}
	}
	return nil
}

// realTime is how long a sandbox may take at least that has written to real vCenters: it takes that back.
const realTime = 6 * time.Minute

// patience is how long a sandbox may take to end.
func (o *options) patience(root, name string) time.Duration {
	dir := filepath.Join(root, name)
	if _, err := real.LeftWrites(dir); err != nil { // it has a journal, and runs
		return max(o.timeout, realTime)
	}
	// Commands of the container runtime's that are under way outlive who is killed: what they make comes after the cleaning.
	if with, err := kind.Runtime(dir); err == nil && with != nil && !o.limited {
		return kind.StopTime
	}
	// It removes its objects from a cluster; if it is killed before the end, the next command must start that again.
	if attach.Placed(dir) && !o.limited {
		return max(o.timeout, attach.StopTime)
	}
	return o.timeout
}

// await waits until a sandbox is gone, or ctx ends, and returns which. The sandbox's lock shows its end, and must be polled.
func await(ctx context.Context, root string, s command.Sandbox) (gone bool, err error) {
	for tick := time.Tick(20 * time.Millisecond); ; {
		if still, err := alive(root, s); err != nil || !still {
			return err == nil, err
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return false, nil
		}
	}
}

// alive reports whether s still runs: s and not one that has taken its name since.
func alive(root string, s command.Sandbox) (bool, error) {
	d, err := instance.Open(root, s.Name)
	if errors.As(err, new(instance.ErrNotFound)) {
		return false, nil
	}
	if err != nil {
		return false, unreadable(err)
	}
	pid, running := d.Running()
	return running && (pid == s.PID || pid == 0 || s.PID == 0), nil
}
