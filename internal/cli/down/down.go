// Package down is the command that ends sandboxes.
package down

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

type options struct {
	*command.Deps

	all     bool
	timeout time.Duration
}

// NewCmdDown returns the command; runF, when not nil, runs in its place.
func NewCmdDown(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{Deps: d}
	cmd := &cobra.Command{
		Use:   "down",
		Short: "End a sandbox and remove everything of it",
		Long: `End a sandbox: its nodes, cluster and vCenters stop, and its directory is
removed. What a sandbox that was killed has left behind is cleaned up too.
A sandbox that does not exist is down already.`,
		Example: `  vsphere-sandbox down
  vsphere-sandbox down --name lab
  vsphere-sandbox down --all`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), o)
			}
			return run(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "every sandbox of this state directory")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 30*time.Second, "how long a sandbox may take to end by itself before it is killed")
	return cmd
}

func run(ctx context.Context, o *options) error {
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	if !o.all {
		s, err := o.Find(ctx)
		if err != nil {
			if name, _ := o.Name(); absent(err) {
				fmt.Fprintf(o.Streams.Err, "sandbox %q is not up: nothing to do\n", name)
				return nil
			}
			return err
		}
		return end(ctx, o, root, s)
	}
	all, err := o.Sandboxes.List(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintln(o.Streams.Err, "no sandbox is up: nothing to do")
	}
	var errs []error
	for _, s := range all {
		errs = append(errs, end(ctx, o, root, s))
	}
	return errors.Join(errs...)
}

// absent tells whether err is that there is no such sandbox, and not that nobody knows, or which one is meant.
func absent(err error) bool {
	var e *report.Error
	return errors.As(err, &e) && e.Code == "no-sandbox"
}

// end ends one sandbox: by asking it, by force when it does not answer, by cleaning up when it is dead.
func end(ctx context.Context, o *options, root string, s command.Sandbox) error {
	if s.Running {
		gone, err := ask(ctx, o, root, s)
		if err != nil || gone {
			if gone {
				fmt.Fprintf(o.Streams.Err, "sandbox %q: down\n", s.Name)
			}
			return err
		}
	}
	left, err := instance.Reap(ctx, root, s.Name)
	var missing instance.ErrNotFound
	if err != nil && !errors.As(err, &missing) {
		return err
	}
	fmt.Fprintf(o.Streams.Err, "sandbox %q: cleaned up (%d processes were left)\n", s.Name, len(left.Killed))
	return nil
}

// ask asks a sandbox to end and waits until it has. It returns false for one that had to be killed and left things.
func ask(ctx context.Context, o *options, root string, s command.Sandbox) (gone bool, err error) {
	fmt.Fprintf(o.Streams.Err, "sandbox %q: stopping\n", s.Name)
	limit, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	if _, err := api.NewClient(s.Socket).Stop(limit); err != nil && ctx.Err() == nil && s.PID > 0 {
		// It may be starting, and have no socket yet, or be stuck: TERM asks the same.
		_ = syscall.Kill(s.PID, syscall.SIGTERM)
	}
	// Its lock says when it is over, and nothing can be told of a lock but by trying it.
	for tick := time.Tick(20 * time.Millisecond); ; {
		if !alive(root, s.Name) {
			return true, nil
		}
		select {
		case <-tick:
		case <-limit.Done():
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			if s.PID == 0 {
				return false, &report.Error{Code: "stuck", Message: fmt.Sprintf("sandbox %q does not end and has no known process", s.Name)}
			}
			fmt.Fprintf(o.Streams.Err, "sandbox %q: did not end within %s, killed\n", s.Name, o.timeout)
			if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return false, fmt.Errorf("sandbox %q: process %d: %w", s.Name, s.PID, err)
			}
			return false, awaitDeath(ctx, root, s.Name)
		}
	}
}

// awaitDeath waits until a sandbox that was killed has lost its lock.
func awaitDeath(ctx context.Context, root, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for tick := time.Tick(20 * time.Millisecond); ; {
		if d, err := instance.Open(root, name); err != nil {
			return nil
		} else if _, running := d.Running(); !running {
			return nil
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return fmt.Errorf("sandbox %q: killed and still there: %w", name, ctx.Err())
		}
	}
}

// alive tells whether there still is anything of a running sandbox.
func alive(root, name string) bool {
	d, err := instance.Open(root, name)
	if err != nil {
		return false
	}
	_, running := d.Running()
	return running
}
