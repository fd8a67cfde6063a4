package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

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
