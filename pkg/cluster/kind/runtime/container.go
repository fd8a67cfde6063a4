package runtime

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// Stop stops a container cleanly, and by force after grace.
func (r *Runtime) Stop(ctx context.Context, container string, grace time.Duration) error {
	return r.run(ctx, "stop", "--time", strconv.Itoa(int(grace.Round(time.Second)/time.Second)), container)
}

// Start starts a stopped container.
func (r *Runtime) Start(ctx context.Context, container string) error {
	return r.run(ctx, "start", container)
}

// Kill stops a container at once, as the loss of power does.
func (r *Runtime) Kill(ctx context.Context, container string) error {
	return r.run(ctx, "kill", container)
}

// Pause freezes all processes of a container, Unpause resumes them.
func (r *Runtime) Pause(ctx context.Context, container string) error {
	return r.run(ctx, "pause", container)
}

// Unpause ends [Runtime.Pause].
func (r *Runtime) Unpause(ctx context.Context, container string) error {
	return r.run(ctx, "unpause", container)
}

// Remove stops and removes containers and their anonymous volumes. Missing ones are no error.
func (r *Runtime) Remove(ctx context.Context, containers ...string) error {
	if len(containers) == 0 {
		return nil
	}
	err := r.run(ctx, append([]string{"rm", "--force", "--volumes"}, containers...)...)
	if coded.Is(err, ContainerMissing) {
		return nil // the command continues with the others
	}
	return err
}

// Exec runs a program in a container and returns when it has ended. A nil stream is empty. A non-zero exit status is an
// error; see [Status].
func (r *Runtime) Exec(ctx context.Context, container string, stdin io.Reader, stdout, stderr io.Writer, argv ...string) error {
	args := []string{"exec", "--privileged"}
	if stdin != nil {
		args = append(args, "--interactive")
	}
	args = append(append(args, container), argv...)
	err := r.Do(ctx, Call{Args: args, Stdin: stdin, Stdout: stdout, Stderr: stderr})
	if err != nil && coded.Is(err, Failed) && len(argv) > 0 {
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	return err
}

func (r *Runtime) run(ctx context.Context, args ...string) error {
	_, err := r.Output(ctx, args...)
	return err
}
