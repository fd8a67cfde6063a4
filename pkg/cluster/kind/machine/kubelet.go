package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// request is a request to the Machine's goroutine.
type request = node.Request[func(context.Context, *container) error]

// do runs f in the Machine's goroutine and returns its error.
func (m *Machine) do(ctx context.Context, f func(context.Context, *container) error) error {
	return node.Send(ctx, m.requests, m.done, f)
}

// Scripts for the container. Its first process, systemd, restarts a kubelet that has exited.
const (
	killKubelet = `p=$(systemctl show --property=MainPID --value kubelet.service)
[ "${p:-0}" != 0 ] || { echo "no kubelet runs" >&2; exit 1; }
kill -KILL "$p"
while [ -d "/proc/$p" ]; do sleep 0.05; done`
	kubeletRuns = `until systemctl is-active --quiet kubelet.service &&
	[ "$(systemctl show --property=MainPID --value kubelet.service)" != 0 ]; do sleep 0.2; done`
	restartKubelet = `systemctl restart kubelet.service`
)

// Crash kills the kubelet and returns when its process is gone. systemd starts it again after [restart].
func (m *Machine) Crash(ctx context.Context) error {
	return m.do(ctx, func(ctx context.Context, c *container) error {
		if err := c.exec(ctx, killKubelet); err != nil {
			return fmt.Errorf("crash of the kubelet: %w", err)
		}
		c.kubelet.end()
		c.kubelet = c.crashed(ctx)
		return nil
	})
}

// Restart restarts the kubelet and returns when the new one has started.
func (m *Machine) Restart(ctx context.Context) error {
	return m.do(ctx, func(ctx context.Context, c *container) error {
		if err := c.exec(ctx, restartKubelet); err != nil {
			return fmt.Errorf("kubelet: %w", err)
		}
		return nil
	})
}

// exec runs a shell script in the container, or returns node.ErrNoGuest if that does not run.
func (c *container) exec(ctx context.Context, script string) error {
	if !c.runs() || c.paused() {
		return node.ErrNoGuest
	}
	return c.call(ctx, func(ctx context.Context) error { return c.m.shell(ctx, script) })
}

func (m *Machine) shell(ctx context.Context, script string) error {
	var said strings.Builder
	err := m.opts.Runtime.Exec(ctx, m.opts.Container, nil, nil, &said, "sh", "-c", script)
	if coded.Is(err, runtime.ContainerStopped) || coded.Is(err, runtime.ContainerMissing) {
		return fmt.Errorf("%w: %w", node.ErrNoGuest, err)
	}
	return err
}

// crash waits for the restart of a kubelet that was killed.
type crash struct {
	quit context.CancelFunc
	done sync.WaitGroup
}

func (k *crash) end() {
	if k != nil {
		k.quit()
		k.done.Wait()
	}
}

var errKilled = errors.New("its kubelet was killed")

// restart is the time that systemd in kind's nodes waits before it restarts the kubelet.
const restart = time.Second

// crashed reports that the kubelet was killed, and later that the next one has started.
func (c *container) crashed(ctx context.Context) *crash {
	m := c.m
	m.mu.Lock()
	m.process = node.Crashing
	m.count++
	m.mu.Unlock()
	c.notify(child.Exited, c.notified, errKilled)
	m.opts.Notify(child.Change{Name: "node/" + m.opts.Name, State: child.Restarting, PID: c.notified, Backoff: restart})
	k := new(crash)
	ctx, k.quit = context.WithTimeout(ctx, callTimeout)
	pid := c.notified
	k.done.Go(func() {
		_ = m.shell(ctx, kubeletRuns) // a failure shows in the state of the node
		if ctx.Err() != nil {
			return
		}
		a := request{Done: make(chan error, 1), Do: func(context.Context, *container) error {
			if c.kubelet == k {
				c.kubelet = nil
				c.notify(child.Started, pid, nil)
			}
			return nil
		}}
		select {
		case m.requests <- a:
		case <-ctx.Done():
		}
	})
	return k
}
