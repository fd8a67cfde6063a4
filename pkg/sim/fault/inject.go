package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// Inject applies a fault and returns when all targets have it. A [Refusal] means that nothing was touched. After any other error,
// what had been done was reverted; if that failed, the lease stays Failed and is retried.
func (e *Engine) Inject(ctx context.Context, r Request) (Lease, error) {
	l, err := e.resolve(ctx, r)
	if err != nil {
		return Lease{}, err
	}
	if err := e.reserve(l); err != nil {
		return Lease{}, err
	}
	defer l.release()
	if err := e.plan(ctx, l); err != nil {
		e.withdraw(l)
		return Lease{}, err
	}
	e.set(l, func() {
		l.Since = time.Now()
		if r.For > 0 {
			l.Until = l.Since.Add(r.For)
		}
	})
	if err := e.journal.begun(l); err != nil {
		e.withdraw(l)
		return Lease{}, fmt.Errorf("journal of leases: %w", err)
	}
	seq := e.note(l, r.Cause, event.Warning, "fault.injected", lasts(r.For))
	e.set(l, func() { l.Seq = seq })
	if err := e.apply(ctx, l); err != nil {
		return e.undo(ctx, l, err)
	}
	e.settle(l, r.For)
	e.mu.Lock()
	defer e.mu.Unlock()
	return l.copy(), nil
}

// reserve gives the lease an ID, adds it to the list and takes it.
func (e *Engine) reserve(l *lease) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return &Refusal{Code: "conflict", Message: "the sandbox is being stopped"}
	}
	if err := e.overlap(l); err != nil {
		return err
	}
	e.last++
	l.ID = "f" + strconv.Itoa(e.last)
	l.busy <- struct{}{}
	e.leases = append(e.leases, l)
	return nil
}

// withdraw removes a lease that did nothing. Its ID is free again, unless a newer one exists.
func (e *Engine) withdraw(l *lease) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leases = slices.DeleteFunc(e.leases, func(other *lease) bool { return other == l })
	if l.ID == "f"+strconv.Itoa(e.last) {
		e.last--
	}
	l.State = Healed // for callers that wait to heal it
	if !l.Since.IsZero() {
		e.changed(l)
	}
}

// apply changes all targets.
func (e *Engine) apply(ctx context.Context, l *lease) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.stopped, cancel)()
	errs := e.each(len(l.Targets), true, func(n int) error {
		ctx, cancel := context.WithTimeout(ctx, e.opts.Timeout)
		defer cancel()
		l.begun[n] = true
		state, err := l.kind.steps.apply(ctx, e.call(l, n, l.Seq), l.states[n])
		l.states[n], err = state, ended(ctx, err)
		if jerr := e.journal.state(l, n); err == nil && jerr != nil {
			err = fmt.Errorf("journal of leases: %w", jerr)
		}
		e.set(l, func() {
			if l.Targets[n].State = Active; err != nil {
				l.Targets[n].State, l.Targets[n].Error = Failed, err.Error()
			}
		})
		return err
	})
	for n, err := range errs {
		if err != nil {
			return about(l, n, err)
		}
	}
	return nil
}

// ended returns err, or else the error of ctx: an aborted wait of govmomi returns nil.
func ended(ctx context.Context, err error) error {
	if err == nil {
		return context.Cause(ctx)
	}
	return err
}

// settle activates an applied lease and starts its timer.
func (e *Engine) settle(l *lease, d time.Duration) {
	if l.kind.over() {
		e.finish(l)
		return
	}
	if l.kind.steps.run != nil {
		ctx, stop := context.WithCancel(e.ctx)
		l.stop = stop
		for n := range l.Targets {
			call := e.call(l, n, l.Seq)
			l.running.Go(func() { e.run(ctx, l, n, call) })
		}
	}
	e.set(l, func() {
		l.State = Active
		if d > 0 && !e.closed {
			l.timer = time.AfterFunc(d, func() { e.spawn(func(ctx context.Context) { e.expire(ctx, l) }) })
		}
	})
}

// run calls the kind's Run for a target until the lease ends.
func (e *Engine) run(ctx context.Context, l *lease, n int, call *Call) {
	state, err := l.kind.steps.run(ctx, call, l.states[n])
	l.states[n] = state
	if err == nil || ctx.Err() != nil {
		return
	}
	err = about(l, n, err)
	e.set(l, func() { l.Targets[n].Error = err.Error() })
	e.note(l, l.Seq, event.Error, "fault.failed", " stopped: "+err.Error())
}

// undo reverts a lease that could not be applied to all targets.
func (e *Engine) undo(ctx context.Context, l *lease, err error) (Lease, error) {
	err = fmt.Errorf("%s: %s: %w", l.ID, l.Kind, err)
	e.note(l, l.Seq, event.Error, "fault.failed", err.Error())
	e.set(l, func() { l.State = Failed })
	if l.kind.over() {
		e.finish(l)
	} else if herr := e.revert(context.WithoutCancel(ctx), l, l.Seq); herr != nil {
		err = errors.Join(err, fmt.Errorf("nor could it be reverted: %w", herr))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return l.copy(), &failure{err}
}

// failure is an error after the fault was begun. It is not a refusal, even if the target refused.
type failure struct{ err error }

func (f *failure) Error() string        { return f.err.Error() }
func (f *failure) Is(target error) bool { return errors.Is(f.err, target) }

// over reports whether nothing needs reverting after Apply.
func (k *Kind) over() bool { return k.Momentary || k.steps.revert == nil }

// expire ends a lease at the end of its duration.
func (e *Engine) expire(ctx context.Context, l *lease) {
	if err := l.take(ctx); err != nil {
		return
	}
	defer l.release()
	if e.state(l) == Healed {
		return
	}
	seq := e.note(l, l.Seq, event.Info, "fault.expired", "")
	_ = e.revert(ctx, l, seq) // reported and retried
}

func (e *Engine) state(l *lease) State {
	e.mu.Lock()
	defer e.mu.Unlock()
	return l.State
}

func lasts(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return " for " + d.String()
}
