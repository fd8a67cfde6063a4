package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// Heal ends leases and returns them, in the order of ids, once their targets are restored. It leaves a healed lease alone and
// says so in its Note. If an ID is unknown, it does nothing. It returns the errors of what could not be healed; the engine
// retries those.
func (e *Engine) Heal(ctx context.Context, ids ...string) ([]Lease, error) {
	list := make([]*lease, 0, len(ids))
	for _, id := range ids {
		l, err := e.find(id)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, l) {
			list = append(list, l)
		}
	}
	return e.heal(ctx, list)
}

// HealAll ends all leases, newest first, and returns those that it ended.
func (e *Engine) HealAll(ctx context.Context) ([]Lease, error) {
	var list []*lease
	e.mu.Lock()
	for _, l := range e.leases {
		if l.State != Healed {
			list = append(list, l)
		}
	}
	e.mu.Unlock()
	return e.heal(ctx, list)
}

// heal ends the leases newest first, because a later one may build on an earlier one. It retries failed ones once after the rest.
func (e *Engine) heal(ctx context.Context, list []*lease) ([]Lease, error) {
	notes := map[*lease]string{}
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *lease) int { return b.number() - a.number() })
	var errs []error
	for range 2 {
		var again []*lease
		errs = nil
		for _, l := range order {
			note, err := e.healOne(ctx, l)
			if notes[l] = note; err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", l.ID, l.Kind, err))
				again = append(again, l)
			}
		}
		if len(again) == 0 || len(again) == len(order) || ctx.Err() != nil {
			break
		}
		order = again
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	healed := make([]Lease, len(list))
	for i, l := range list {
		healed[i] = l.copy()
		healed[i].Note = notes[l]
	}
	return healed, errors.Join(errs...)
}

// healOne ends one lease, and returns a note for the user.
func (e *Engine) healOne(ctx context.Context, l *lease) (note string, err error) {
	if err := l.take(ctx); err != nil {
		return "", err
	}
	defer l.release()
	if e.state(l) == Healed {
		if l.kind.over() {
			return "was over as soon as it was done", nil
		}
		return "was healed already", nil
	}
	return "", e.revert(ctx, l, l.Seq)
}

// revert restores all targets; cause is the event that ended the lease. The caller has taken the lease.
func (e *Engine) revert(ctx context.Context, l *lease, cause uint64) error {
	if l.stop != nil {
		l.stop()
		l.running.Wait()
		l.stop = nil
	}
	first := l.healing == 0
	if first {
		seq := e.note(l, cause, event.Info, "fault.healed", "")
		e.set(l, func() { l.healing = seq })
	}
	e.set(l, func() { l.disarm(); l.State = Healing })
	errs := e.each(len(l.Targets), false, func(n int) error { return e.revertTarget(ctx, l, n) })
	var failed []error
	for n, err := range errs {
		if err != nil {
			failed = append(failed, about(l, n, err))
		}
	}
	if len(failed) == 0 {
		if !first {
			e.note(l, l.healing, event.Info, "fault.healed", ", after all")
		}
		e.finish(l)
		return nil
	}
	err := errors.Join(failed...)
	if text := strings.ReplaceAll(err.Error(), "\n", "; "); text != l.trouble { // or each retry would repeat the event
		e.note(l, l.healing, event.Error, "fault.heal-failed", ": "+text)
		l.trouble = text
	}
	e.retry(l)
	return err
}

func (e *Engine) revertTarget(ctx context.Context, l *lease, n int) error {
	if e.targetState(l, n) == Healed {
		return nil
	}
	var err error
	if l.begun[n] {
		e.set(l, func() { l.Targets[n].State = Healing })
		ctx, cancel := context.WithTimeout(ctx, e.opts.Timeout)
		defer cancel()
		l.states[n], err = l.kind.steps.revert(ctx, e.call(l, n, l.healing), l.states[n])
		err = ended(ctx, err)
	}
	e.set(l, func() {
		t := &l.Targets[n]
		if t.State = Healed; err != nil {
			t.State, t.Error = Failed, err.Error()
		}
	})
	return err
}

func (e *Engine) targetState(l *lease, n int) State {
	e.mu.Lock()
	defer e.mu.Unlock()
	return l.Targets[n].State
}

// finish marks a lease as healed.
func (e *Engine) finish(l *lease) {
	if err := e.journal.healed(l); err != nil {
		e.opts.Logger.Error("journal of leases", "lease", l.ID, "err", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	l.disarm()
	l.State, l.Ended = Healed, time.Now()
	for n := range l.Targets {
		l.Targets[n].State = Healed
	}
	e.changed(l)
	e.forget()
}

// retry schedules another attempt to heal the lease.
func (e *Engine) retry(l *lease) {
	e.set(l, func() {
		l.State = Failed
		if e.closed {
			return
		}
		wait := min(e.opts.Retry<<min(l.retries, 10), maxRetry)
		l.retries++
		l.timer = time.AfterFunc(wait, func() {
			e.spawn(func(ctx context.Context) { _, _ = e.healOne(ctx, l) }) // reported as an event
		})
	})
}
