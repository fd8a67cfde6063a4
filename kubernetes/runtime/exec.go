package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	remote "k8s.io/cri-client/pkg"
	utilexec "k8s.io/utils/exec"

	"github.com/vsphere-sandbox/vsphere-sandbox/kubernetes/shell"
)

func notRunning(id string, state runtimeapi.ContainerState) error {
	return status.Errorf(codes.FailedPrecondition, "container %q is in state %s", id, state)
}

// outputBytes is the most that [Runtime.ExecSync] keeps of each stream.
const outputBytes = 64 << 10

// syncLimit bounds a command without a time limit: lifecycle hooks.
const syncLimit = 10 * time.Minute

// limited keeps the first bytes.
type limited struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *limited) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Write(p[:min(len(p), outputBytes-l.b.Len())])
	return len(p), nil
}

func (l *limited) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}

// ExecSync implements the CRI: probes and lifecycle hooks. A program that is not here succeeds if the container is ready: so does
// a script that called one.
func (r *Runtime) ExecSync(ctx context.Context, id string, cmd []string, timeout time.Duration) (stdout, stderr []byte, err error) {
	c, err := r.find(id)
	if err != nil {
		return nil, nil, err
	}
	if err := c.running(); err != nil {
		return nil, nil, err
	}
	if p, ok := probed(cmd); ok {
		text, err := c.answer(p)
		return []byte(text), nil, err
	}
	limit := timeout
	if limit <= 0 {
		limit = syncLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out, errs limited
	result, known := c.exec(ctx, cmd, nil, &out, &errs, nil)
	switch {
	case !known, result.Unknown && result.Code != 0:
		err := c.ready()
		return out.bytes(), errs.bytes(), err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, nil, fmt.Errorf("%w: %q timed out after %s", remote.ErrCommandTimedOut, cmd, limit)
	case result.Code != 0:
		err = codeError(cmd, result.Code, string(errs.bytes()))
	}
	return out.bytes(), errs.bytes(), err
}

// codeError is the exit of a command, as the kubelet and its streaming server know it.
func codeError(cmd []string, code int, text string) error {
	return utilexec.CodeExitError{Err: fmt.Errorf("command '%s' exited with %d: %s", join(cmd), code, text), Code: code}
}

func join(cmd []string) string {
	var b bytes.Buffer
	for i, word := range cmd {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return b.String()
}

// exec interprets a command in a running container, and reports whether it can. It ends with the container.
func (c *container) exec(ctx context.Context, cmd []string, in io.Reader, stdout, stderr io.Writer, terminal *shell.Terminal) (shell.Result, bool) {
	p := c.program(cmd)
	if p == nil {
		return shell.Result{Code: 127, Unknown: true}, false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.killed, cancel)()
	p.Stdin, p.Stdout, p.Stderr, p.Terminal = in, stdout, stderr, terminal
	p.Kill = c.signal
	result := p.Run(ctx)
	if result.Memory {
		result.Code = exitKilled
	}
	return result, true
}

// signal is kill(1) of process 1.
func (c *container) signal(number int) {
	if number == 9 {
		c.kill()
		return
	}
	c.termOnce.Do(func() { close(c.terminate) })
}

// Exec implements shell streams: see [streams].
func (r *Runtime) execute(ctx context.Context, id string, cmd []string, in io.Reader, out, errs io.Writer, terminal *shell.Terminal) error {
	c, err := r.find(id)
	if err != nil {
		return err
	}
	if err := c.running(); err != nil {
		return err
	}
	if out == nil {
		out = io.Discard
	}
	if errs == nil {
		errs = out // of a terminal
	}
	result, known := c.exec(ctx, cmd, in, out, errs, terminal)
	if !known {
		return fmt.Errorf("exec: %q: executable file not found in $PATH: a container here has a shell and its tools only", cmd[0])
	}
	if err := c.killed.Err(); err != nil && result.Code == 0 {
		result.Code = exitKilled
	}
	if result.Code != 0 {
		return codeError(cmd, result.Code, "")
	}
	return nil
}

// attach connects to the container's streams until it ends.
func (r *Runtime) attach(ctx context.Context, id string, in io.Reader, out, errs io.Writer) error {
	c, err := r.find(id)
	if err != nil {
		return err
	}
	if err := c.running(); err != nil {
		return err
	}
	detach := c.log.attach(&attachment{stdout: out, stderr: errs})
	defer detach()
	gone := make(chan struct{})
	if in != nil && c.input != nil {
		go func() {
			_, err := io.Copy(c.input, in)
			if c.config.GetStdinOnce() || err == nil {
				_ = c.input.Close()
			}
			close(gone)
		}()
	}
	select {
	case <-c.done:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exit.code != 0 && c.state == runtimeapi.ContainerState_CONTAINER_EXITED {
		return codeError(nil, int(c.exit.code), "")
	}
	return nil
}
