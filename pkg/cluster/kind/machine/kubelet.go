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

// ask is something that the machine's goroutine is to do.
type ask = node.Ask[func(context.Context, *box) error]

// ask returns what f does with the container in the machine's goroutine.
func (m *Machine) ask(ctx context.Context, f func(context.Context, *box) error) error {
	return node.Send(ctx, m.asks, m.done, f)
}

// What is run in the container, where systemd is the first process and starts a kubelet again that has ended.
const (
	killKubelet = `p=$(systemctl show --property=MainPID --value kubelet.service)
[ "${p:-0}" != 0 ] || { echo "no kubelet runs" >&2; exit 1; }
kill -KILL "$p"
while [ -d "/proc/$p" ]; do sleep 0.05; done`
	kubeletRuns = `until systemctl is-active --quiet kubelet.service &&
	[ "$(systemctl show --property=MainPID --value kubelet.service)" != 0 ]; do sleep 0.2; done`
	restartKubelet = `systemctl restart kubelet.service`
)

// Crash kills the kubelet, which its container's systemd starts again after a while. It returns when the process is gone.
func (m *Machine) Crash(ctx context.Context) error {
	return m.ask(ctx, func(ctx context.Context, b *box) error {
		if err := b.guest(ctx, killKubelet); err != nil {
			return fmt.Errorf("crash of the kubelet: %w", err)
		}
		b.kubelet.end()
		b.kubelet = b.crashed(ctx)
		return nil
	})
}

// Restart ends the kubelet properly and starts another. It returns when that has been started.
func (m *Machine) Restart(ctx context.Context) error {
	return m.ask(ctx, func(ctx context.Context, b *box) error {
		if err := b.guest(ctx, restartKubelet); err != nil {
			return fmt.Errorf("kubelet: %w", err)
		}
		return nil
	})
}

// guest runs a shell script in the container, which has to run.
func (b *box) guest(ctx context.Context, script string) error {
	if !b.runs() || b.paused() {
		return node.ErrNoGuest
	}
	return b.call(ctx, func(ctx context.Context) error { return b.m.shell(ctx, script) })
}

// shell runs a script in the container.
func (m *Machine) shell(ctx context.Context, script string) error {
	var said strings.Builder
	err := m.opts.Runtime.Exec(ctx, m.opts.Container, nil, nil, &said, "sh", "-c", script)
	if coded.Is(err, runtime.ContainerStopped) || coded.Is(err, runtime.ContainerMissing) {
		return fmt.Errorf("%w: %w", node.ErrNoGuest, err)
	}
	return err
}

// crash is a kubelet that was killed and is not up again.
type crash struct {
	quit context.CancelFunc
	done sync.WaitGroup
}

// end ends the wait for the kubelet.
func (c *crash) end() {
	if c != nil {
		c.quit()
		c.done.Wait()
	}
}

var errKilled = errors.New("its kubelet was killed")

// restart is how long kind's nodes wait before they start a kubelet that has crashed.
const restart = time.Second

// crashed tells of a kubelet that was killed, and waits for the next.
func (b *box) crashed(ctx context.Context) *crash {
	m := b.m
	m.mu.Lock()
	m.process = node.Crashing
	m.count++
	m.mu.Unlock()
	b.notify(child.Exited, b.told, errKilled)
	m.opts.Notify(child.Change{Name: "node/" + m.opts.Name, State: child.Restarting, PID: b.told, Backoff: restart})
	c := new(crash)
	ctx, c.quit = context.WithTimeout(ctx, callTimeout)
	pid := b.told
	c.done.Go(func() {
		_ = m.shell(ctx, kubeletRuns) // what keeps it from running the node's own state tells
		if ctx.Err() != nil {
			return
		}
		a := ask{Done: make(chan error, 1), Do: func(context.Context, *box) error {
			if b.kubelet == c {
				b.kubelet = nil
				b.notify(child.Started, pid, nil)
			}
			return nil
		}}
		select {
		case m.asks <- a:
		case <-ctx.Done():
		}
	})
	return c
}
