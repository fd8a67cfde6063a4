package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// wanted is what the VM asks for.
type wanted struct {
	node.Machine
	node.Next
	existed, look bool
	shutdown      bool // the guest shuts itself down
	cut           cut
}

// wanted returns what the VM asks of a container that runs since boot.
func (m *Machine) wanted(boot time.Time) wanted {
	m.mu.Lock()
	defer m.mu.Unlock()
	vm := m.life.VM
	return wanted{
		Machine: vm, Next: m.life.Next(boot), existed: m.existed, look: m.look, cut: m.cut,
		shutdown: vm.Exists && vm.Power == node.Off && !m.guestUp,
	}
}

// follow does what the VM's present state asks for; false means to try again in a while.
func (b *box) follow(ctx context.Context) bool {
	b.wait = 0
	w := b.m.wanted(b.time)
	if !w.existed {
		return true
	}
	if w.look {
		err := b.inspect(ctx)
		if ctx.Err() != nil {
			return true
		}
		b.notice("runtime", err)
		if err != nil {
			b.m.unsure()
			return false
		}
		b.others()
	}
	err := b.bring(ctx, w)
	b.notice("container", err)
	return err == nil
}

// others tells of what somebody else has done to the container.
func (b *box) others() {
	switch {
	case !b.runs() && b.told != 0:
		b.show(node.Stopped, b.lost())
		if b.there {
			b.again()
		}
	case b.runs() && b.told != 0 && b.told != b.is.PID:
		b.show(node.Running, errEnded) // and started
	case b.runs() && b.told != 0 && b.paused() && !b.frozen:
		b.notice("pause", errPaused)
	case b.runs() && b.told != 0 && !b.paused() && b.frozen:
		b.notice("pause", errUnpaused)
	}
}

// again puts the next start of a container off that somebody has ended: sooner the longer it ran.
func (b *box) again() {
	if time.Since(b.started) >= healthy {
		b.failures = 0
	}
	b.failures++
	b.pause = retries().After(b.failures)
	b.due = time.Now().Add(b.pause)
	b.m.mu.Lock()
	b.m.count++
	b.m.process = node.Crashing
	b.m.mu.Unlock()
	b.notify(child.Restarting, 0, nil)
}

// bring brings the container in line.
func (b *box) bring(ctx context.Context, w wanted) error {
	if !w.Exists {
		return b.aside(ctx, w)
	}
	if w.End {
		if err := b.powerOff(ctx, w); err != nil {
			return err
		}
	}
	if !b.runs() {
		if !b.there && w.Power == node.On {
			b.notice("gone", errRemoved)
		}
		if !b.there || !w.Start {
			b.rest()
			return nil
		}
		if b.wait = time.Until(b.due); b.wait > 0 {
			return nil
		}
		b.wait = 0
		if err := b.start(ctx, w); err != nil {
			return err
		}
	}
	if b.time.IsZero() {
		b.time = w.BootTime // it was not known before, or the container ran already
	}
	if err := b.freeze(ctx, w); err != nil {
		return err
	}
	if b.paused() {
		return nil
	}
	return errors.Join(b.prepare(ctx), b.network(ctx, w.cut))
}

// rest is a container that is not to run, or is not there.
func (b *box) rest() {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	if b.m.life.VM.Power != node.On || !b.there {
		b.m.process = node.Stopped
		b.due = time.Time{}
	}
}

// powerOff ends a boot of the VM: at once, or, when the guest was down before, as it shuts itself down.
func (b *box) powerOff(ctx context.Context, w wanted) error {
	if b.runs() {
		end := func(ctx context.Context) error { return b.m.opts.Runtime.Kill(ctx, b.m.opts.Container) }
		if w.shutdown && !b.paused() {
			end = func(ctx context.Context) error { return b.m.opts.Runtime.Stop(ctx, b.m.opts.Container, grace) }
		}
		if err := b.ended(ctx, end); err != nil {
			return fmt.Errorf("power off: %w", err)
		}
	}
	b.time, b.due, b.failures = time.Time{}, time.Time{}, 0
	b.show(node.Stopped, nil)
	b.m.mu.Lock()
	b.m.count = 0
	b.m.life.Unhang()
	b.m.mu.Unlock()
	return nil
}

// ended ends the container and waits until it does not run. A runtime that does not kill what is paused has it go on first.
func (b *box) ended(ctx context.Context, end func(context.Context) error) error {
	err := b.call(ctx, end)
	if err != nil && b.paused() {
		if e := b.call(ctx, b.unpause); e == nil {
			err = b.call(ctx, end)
		}
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(grace)
	for {
		if e := b.inspect(context.WithoutCancel(ctx)); e != nil {
			return errors.Join(err, e)
		}
		if !b.runs() {
			return nil
		}
		if err != nil && !coded.Is(err, runtime.ContainerStopped) {
			return err
		}
		select {
		case <-tick.C:
		case <-deadline:
			return fmt.Errorf("container %s runs still", b.m.opts.Container)
		}
	}
}

func (b *box) unpause(ctx context.Context) error {
	return b.m.opts.Runtime.Unpause(ctx, b.m.opts.Container)
}

func (b *box) start(ctx context.Context, w wanted) error {
	if err := b.m.opts.Identify(w.Machine); err != nil {
		return fmt.Errorf("power on: %w", err)
	}
	err := b.call(ctx, func(ctx context.Context) error { return b.m.opts.Runtime.Start(ctx, b.m.opts.Container) })
	if e := b.inspect(context.WithoutCancel(ctx)); e != nil {
		return errors.Join(err, e)
	}
	switch {
	case err != nil && !b.runs():
		return fmt.Errorf("power on: %w", err)
	case !b.runs():
		return fmt.Errorf("power on: its container has ended at once, see its log: %s", b.exit())
	}
	b.show(node.Running, nil)
	return nil
}

// freeze has the container stand still, or go on.
func (b *box) freeze(ctx context.Context, w wanted) error {
	still := w.State != node.Running
	if still != b.paused() {
		do, what := b.unpause, "let it go on"
		if still {
			do = func(ctx context.Context) error { return b.m.opts.Runtime.Pause(ctx, b.m.opts.Container) }
			what = "stop it where it stands"
		}
		err := b.call(ctx, do)
		if e := b.inspect(context.WithoutCancel(ctx)); e != nil {
			return errors.Join(err, e)
		}
		if b.paused() != still {
			b.m.unsure()
			return errors.Join(err, fmt.Errorf("could not %s: its container is %s", what, b.is.Status))
		}
	}
	b.frozen = still
	b.notice("gone", nil)
	b.notice("pause", nil)
	if !still && b.kubelet != nil {
		b.show(node.Crashing, nil)
	} else {
		b.show(w.State, nil)
	}
	return nil
}

// aside is the container of a VM that is gone: it does not run. It stays, since kind makes none later, for a VM that is made
// again, or registered again with the disk that it had.
func (b *box) aside(ctx context.Context, w wanted) error {
	if err := b.powerOff(ctx, w); err != nil {
		return fmt.Errorf("its VM is gone, and its container is not: %w", err)
	}
	return nil
}

// end ends the container when the machine does.
func (b *box) end(ctx context.Context) {
	if b.m.opts.Keep() {
		b.kubelet.end()
		return
	}
	w := b.m.wanted(b.time)
	ctx = context.WithoutCancel(ctx)
	var err error
	if w.existed {
		if err = b.inspect(ctx); err == nil {
			w.shutdown = false
			err = b.powerOff(ctx, w)
		}
	}
	b.kubelet.end()
	b.notice("container", errors.Join(err, b.m.unplugAll(ctx)))
}
