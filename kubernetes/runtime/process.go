package runtime

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/kubernetes/shell"
)

// run does what the container does, until it ends or ctx does.
func (c *container) run(ctx context.Context) exit {
	stdout, stderr := c.log.stream("stdout"), c.log.stream("stderr")
	defer func() { _, _ = stdout.Close(), stderr.Close() }()
	if c.does.declared {
		return c.behave(ctx, stdout)
	}
	args := c.command()
	p := c.program(args)
	if p == nil {
		return c.standFor(ctx)
	}
	p.Stdout, p.Stderr, p.Terminate = stdout, stderr, c.terminate
	if c.stdin != nil {
		p.Stdin = c.stdin
	}
	p.StandIn = func(ctx context.Context, _ []string) int { return int(c.standFor(ctx).code) }
	result := p.Run(ctx)
	switch {
	case result.Memory:
		return exit{code: exitKilled, reason: reasonOOM}
	case ctx.Err() != nil:
		return exit{code: exitKilled, reason: reasonError}
	case result.Terminated:
		return exit{code: exitTerminated, reason: reasonError}
	}
	return exited(result.Code)
}

// command returns what the container would execute; nil if that is the image's.
func (c *container) command() []string {
	if len(c.config.GetCommand()) > 0 {
		return slices.Concat(c.config.GetCommand(), c.config.GetArgs())
	}
	args := c.config.GetArgs()
	if shellImage(c.imageName()) {
		if len(args) == 0 {
			return []string{"sh"}
		}
		return args
	}
	if len(args) > 0 && shell.IsShell(args[0]) {
		return args // entrypoints of images execute their arguments
	}
	return nil
}

// imageName is the image's name as the pod has it.
func (c *container) imageName() string {
	if name := c.config.GetImage().GetUserSpecifiedImage(); name != "" {
		return name
	}
	return c.config.GetImage().GetImage()
}

// program returns what interprets a command, without streams; nil if nothing does.
func (c *container) program(args []string) *shell.Program {
	p := &shell.Program{Args: args, Files: c.files, Dir: c.config.GetWorkingDir(), Hostname: c.hostname(), UID: c.uid(), GID: c.gid()}
	for _, e := range c.config.GetEnvs() {
		p.Env = append(p.Env, fmt.Sprintf("%s=%s", e.GetKey(), e.GetValue())) // bytes since v1.37
	}
	if len(args) == 0 || !p.Interprets() {
		return nil
	}
	return p
}

func (c *container) hostname() string {
	if c.sandbox != nil && c.sandbox.config.GetHostname() != "" {
		return c.sandbox.config.GetHostname()
	}
	return c.runtime.opts.Node
}

func (c *container) uid() int64 {
	security := c.config.GetLinux().GetSecurityContext()
	if security.GetRunAsUser() != nil {
		return security.GetRunAsUser().GetValue()
	}
	return c.image.GetUid().GetValue()
}

func (c *container) gid() int64 {
	security := c.config.GetLinux().GetSecurityContext()
	if security.GetRunAsGroup() != nil {
		return security.GetRunAsGroup().GetValue()
	}
	return 0
}

// EndsKey is an annotation that the kubelet's wiring sets in place of any of the pod: the names of the containers,
// separated by commas, whose programs end without a signal: init containers and containers of Jobs.
const EndsKey = "internal.sandbox.vsphere/ends"

// standFor is a program that is not here: it runs until it is stopped, or ends at once if it must end.
func (c *container) standFor(ctx context.Context) exit {
	c.mu.Lock()
	c.standIn = true
	c.mu.Unlock()
	if path.Base(strings.SplitN(c.imageName(), ":", 2)[0]) != "pause" &&
		slices.Contains(strings.Split(c.sandbox.config.GetAnnotations()[EndsKey], ","), c.config.GetMetadata().GetName()) {
		return exited(0)
	}
	select {
	case <-c.terminate:
		return exited(0)
	case <-ctx.Done():
		return exit{code: exitKilled, reason: reasonError}
	}
}

// behave does what the annotation says.
func (c *container) behave(ctx context.Context, stdout *logStream) exit {
	b := &c.does
	end, code := b.Duration, b.ExitCode
	if b.CrashEvery != nil {
		end = b.CrashEvery
		if code == 0 {
			code = 1
		}
	}
	if limit := c.config.GetLinux().GetResources().GetMemoryLimitInBytes(); limit > 0 && b.Memory != nil && b.Memory.Value() > limit {
		return exit{code: exitKilled, reason: reasonOOM}
	}
	var over, tick <-chan time.Time
	if end != nil {
		timer := time.NewTimer(end.Duration)
		defer timer.Stop()
		over = timer.C
	}
	line := func(i int) { _, _ = stdout.Write([]byte(b.Log[i%len(b.Log)] + "\n")) }
	if b.LogEvery != nil && len(b.Log) > 0 {
		ticker := time.NewTicker(b.LogEvery.Duration)
		defer ticker.Stop()
		tick = ticker.C
	} else {
		for i := range b.Log {
			line(i)
		}
	}
	terminate := c.terminate
	for i := 0; ; {
		select {
		case <-tick:
			line(i)
			i++
		case <-over:
			return exited(int(code))
		case <-terminate:
			if after(b.StopAfter) == 0 {
				return exited(0)
			}
			terminate, code = nil, 0
			timer := time.NewTimer(b.StopAfter.Duration)
			defer timer.Stop()
			over = timer.C
		case <-ctx.Done():
			return exit{code: exitKilled, reason: reasonError}
		}
	}
}

// running returns nil if commands can be executed in the container.
func (c *container) running() error {
	if state := c.current(); state != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return notRunning(c.id, state)
	}
	return nil
}
