package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Plan checks a request, and tells what Inject would do: a lease without an ID, with the targets, and what is done to
// each. It touches nothing. Its refusals are those of [Engine.Inject].
func (e *Engine) Plan(ctx context.Context, r Request) (Lease, error) {
	l, err := e.resolve(ctx, r)
	if err != nil {
		return Lease{}, err
	}
	e.mu.Lock()
	err = e.overlap(l)
	e.mu.Unlock()
	if err != nil {
		return Lease{}, err
	}
	if err := e.plan(ctx, l); err != nil {
		return Lease{}, err
	}
	l.State = ""
	return l.copy(), nil
}

// resolve finds out what a request means: kind, parameters and targets.
func (e *Engine) resolve(ctx context.Context, r Request) (*lease, error) {
	kind, err := Find(e.kinds, r.Kind)
	if err != nil {
		return nil, err
	}
	for _, need := range kind.Needs {
		if !e.ground.Has(need) {
			return nil, lacks(kind, need)
		}
	}
	params, err := kind.check(r.Params)
	if err != nil {
		return nil, err
	}
	switch {
	case r.For < 0:
		return nil, invalid("%s: duration %s is negative", kind.Name, r.For)
	case r.For > 0 && kind.Momentary:
		return nil, invalid("%s is over as soon as it is done: it takes no duration", kind.Name)
	}
	if r.Seed == 0 {
		r.Seed = uint64(rand.Uint32()) + 1 // short enough to be typed again
	}
	items, err := e.ground.choose(ctx, kind.Object, r)
	if err != nil {
		return nil, err
	}
	l := &lease{kind: kind, busy: make(chan struct{}, 1), states: make([]json.RawMessage, len(items)), begun: make([]bool, len(items))}
	l.Lease = Lease{Kind: kind.Name, State: Applying, Params: params, Mode: r.Mode, Seed: r.Seed, Targets: make([]Leased, len(items))}
	for i, item := range items {
		if vc := e.ground.VCenter(item.VCenter); vc != nil {
			if need, lacking := vc.lacks(kind); lacking {
				return nil, &Refusal{Code: "unsupported", Message: fmt.Sprintf("%s: vcenter %q is a real one, and this takes %s", kind.Name, vc.Name, need)}
			}
		}
		l.Targets[i] = Leased{Target: item, State: Applying}
	}
	return l, nil
}

// overlap refuses a lease on a target of which another has changed the same. The caller holds the engine's lock.
func (e *Engine) overlap(l *lease) error {
	if l.kind.Touches == "" {
		return nil
	}
	mine := map[string]Item{}
	for _, t := range l.Targets {
		for _, key := range l.kind.touched(t.Target) {
			mine[key] = t.Target
		}
	}
	for _, other := range e.leases {
		if other.State == Healed || other == l || !l.kind.excludes(other.kind) {
			continue
		}
		for _, t := range other.Targets {
			if t.State == Healed {
				continue
			}
			for _, key := range other.kind.touched(t.Target) {
				if target, both := mine[key]; both {
					return &Refusal{
						Code:    "conflict",
						Message: fmt.Sprintf("%s %q: lease %s (%s) has its %s already", target.Kind.noun(), target, other.ID, other.Kind, other.kind.Touches),
						Try:     "vsphere-sandbox fault heal " + other.ID,
					}
				}
			}
		}
	}
	return nil
}

// excludes tells whether leases of two kinds cannot touch the same target.
func (k *Kind) excludes(other *Kind) bool {
	if k.Touches == "" || other.Touches == "" {
		return false
	}
	return k.Touches == other.Touches || k.Whole && other.Component == nil || other.Whole && k.Component == nil
}

// touched are the keys of what a lease touches: the target, and the component behind it.
func (k *Kind) touched(target Item) []string {
	keys := []string{target.key()}
	if k.Component != nil {
		if name := k.Component(target); name != "" {
			keys = append(keys, string(Component)+"\x00"+name)
		}
	}
	return keys
}

// plan has the kind check every target, and keeps what each was like.
func (e *Engine) plan(ctx context.Context, l *lease) error {
	errs := e.each(len(l.Targets), false, func(n int) error {
		ctx, cancel := context.WithTimeout(ctx, e.opts.Timeout)
		defer cancel()
		state, does, err := l.kind.steps.plan(ctx, e.call(l, n, 0))
		l.states[n] = state
		e.mu.Lock()
		l.Targets[n].Does = does
		e.mu.Unlock()
		return err
	})
	return refused(l, errs)
}

// refused makes one error of those of the plan: the first, and how many more there are.
func refused(l *lease, errs []error) error {
	var first error
	var also []string
	for n, err := range errs {
		switch {
		case err == nil:
		case first == nil:
			first = about(l, n, err)
		default:
			also = append(also, l.Targets[n].Target.String())
		}
	}
	if first == nil || len(also) == 0 {
		return first
	}
	const many = 5
	if len(also) > many {
		also = append(also[:many], fmt.Sprintf("%d more", len(also)-many))
	}
	return about(l, -1, fmt.Errorf("%w; nor %s", first, strings.Join(also, ", ")))
}
