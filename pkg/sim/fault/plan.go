package fault

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// Plan checks a request and returns what Inject would do: a lease without an ID, with its targets and the change to each. It
// touches nothing. It refuses what [Engine.Inject] refuses.
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

// resolve finds the kind, parameters and targets of a request.
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
		r.Seed = uint64(rand.Uint32()) + 1 // short enough to type
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

// overlap refuses a lease on a target if another lease has changed the same aspect. The caller holds the engine's lock.
func (e *Engine) overlap(l *lease) error {
	if l.kind.Aspect == "" {
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
						Message: fmt.Sprintf("%s %q: lease %s (%s) has its %s already", target.Kind.noun(), target, other.ID, other.Kind, other.kind.Aspect),
						Try:     "vsphere-sandbox fault heal " + other.ID,
					}
				}
			}
		}
	}
	return nil
}

// excludes reports whether leases of two kinds cannot touch the same target.
func (k *Kind) excludes(other *Kind) bool {
	if k.Aspect == "" || other.Aspect == "" {
		return false
	}
	return k.Aspect == other.Aspect || k.ReplacesTarget && other.Component == nil || other.ReplacesTarget && k.Component == nil
}

// touched returns the keys of the target and of the component behind it.
func (k *Kind) touched(target Item) []string {
	keys := []string{target.key()}
	if k.Component != nil {
		if name := k.Component(target); name != "" {
			keys = append(keys, string(Component)+"\x00"+name)
		}
	}
	return keys
}

// plan plans every target, and keeps the previous states.
func (e *Engine) plan(ctx context.Context, l *lease) error {
	errs := e.each(len(l.Targets), false, func(n int) error {
		ctx, cancel := context.WithTimeout(ctx, e.opts.Timeout)
		defer cancel()
		state, does, err := l.kind.steps.plan(ctx, e.call(l, n, 0))
		l.states[n] = state
		e.mu.Lock()
		l.Targets[n].Effect = does
		e.mu.Unlock()
		return err
	})
	return refused(l, errs)
}

// refused merges the errors of a plan: the first one, and the number of others.
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

// check returns the parameters completed with defaults, or an error.
func (k *Kind) check(given map[string]string) (Values, error) {
	values := Values{}
	names := make([]string, len(k.Params))
	for i, p := range k.Params {
		names[i] = p.Name
	}
	for name := range given {
		if slices.Contains(names, name) {
			continue
		}
		message := fmt.Sprintf("%s has no parameter %q", k.Name, name)
		if near := nearest.Of(name, names); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		} else if len(names) > 0 {
			message += ": it has " + strings.Join(names, ", ")
		}
		return nil, &Refusal{Code: "invalid", Message: message, Try: "vsphere-sandbox fault describe " + k.Name}
	}
	for _, p := range k.Params {
		value, set := given[p.Name]
		if !set {
			if p.Required {
				return nil, &Refusal{
					Code: "invalid", Message: fmt.Sprintf("%s: parameter %q has to be given: %s", k.Name, p.Name, p.Short),
					Try: "vsphere-sandbox fault describe " + k.Name,
				}
			}
			value = p.Default
		}
		if !set && value == "" {
			continue
		}
		value, err := p.normal(value)
		if err != nil {
			return nil, &Refusal{
				Code: "invalid", Message: fmt.Sprintf("%s: parameter %q: %v", k.Name, p.Name, err),
				Try: "vsphere-sandbox fault describe " + k.Name,
			}
		}
		values[p.Name] = value
	}
	return values, nil
}

// normal returns a value in the form that the getters of [Values] parse.
func (p Param) normal(value string) (string, error) {
	if len(p.Choices) > 0 && !slices.Contains(p.Choices, value) {
		if near := nearest.Of(value, p.Choices); near != "" {
			return "", fmt.Errorf("%q is none of %s; did you mean %q?", value, strings.Join(p.Choices, ", "), near)
		}
		return "", fmt.Errorf("%q is none of %s", value, strings.Join(p.Choices, ", "))
	}
	switch p.Type {
	case Duration:
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			return "", fmt.Errorf("%q is no duration like 250ms or 1m30s", value)
		}
	case Number:
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 0 {
			return "", fmt.Errorf("%q is no whole number from 0", value)
		}
		return strconv.FormatInt(n, 10), nil
	case Fraction:
		f, err := fraction(value)
		if err != nil || !(f >= 0 && f <= 1) {
			return "", fmt.Errorf("%q is no fraction from 0 to 1, like 0.25 or 25%%", value)
		}
		return strconv.FormatFloat(f, 'g', -1, 64), nil
	case Bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return "", fmt.Errorf("%q is neither true nor false", value)
		}
		return strconv.FormatBool(b), nil
	}
	return value, nil
}

func fraction(s string) (float64, error) {
	if percent, ok := strings.CutSuffix(s, "%"); ok {
		f, err := strconv.ParseFloat(percent, 64)
		return f / 100, err
	}
	return strconv.ParseFloat(s, 64)
}

// Check validates parameters as far as the kind alone allows. It returns the errors of [Engine.Inject].
func (k *Kind) Check(given map[string]string) error {
	_, err := k.check(given)
	return err
}

// draw picks as many of the items as the mode allows. An item's rank depends only on its name and the seed: the same seed picks
// the same items, and a changed list changes the choice little.
func draw(items []Item, kind Object, r Request) ([]Item, error) {
	n, err := r.count(len(items), kind)
	if err != nil || n == len(items) {
		return items, err
	}
	type lot struct {
		at   int
		rank uint64
	}
	lots := make([]lot, len(items))
	for i, item := range items {
		lots[i] = lot{i, rand.NewPCG(r.Seed, item.hash()).Uint64()}
	}
	slices.SortFunc(lots, func(a, b lot) int { return cmp.Or(cmp.Compare(a.rank, b.rank), a.at-b.at) })
	lots = lots[:n]
	slices.SortFunc(lots, func(a, b lot) int { return a.at - b.at })
	picked := make([]Item, n)
	for i, l := range lots {
		picked[i] = items[l.at]
	}
	return picked, nil
}

// count returns how many of available items to pick.
func (r Request) count(there int, kind Object) (int, error) {
	if there == 0 {
		return 0, &Refusal{Code: "not-found", Message: fmt.Sprintf("there is no %s", kind.noun())}
	}
	switch r.Mode {
	case "":
		if there > 1 {
			return 0, &Refusal{
				Code: "ambiguous", Message: fmt.Sprintf("%s: %d %s match", r.Kind, there, kind.plural()),
				Try: fmt.Sprintf("vsphere-sandbox fault inject %s %s   # or --mode one|all|N|N%%", r.Kind, strings.ToUpper(string(kind))),
			}
		}
		return 1, nil
	case "one":
		return 1, nil
	case "all":
		return there, nil
	}
	n, percent, err := parseMode(r.Mode)
	if err != nil {
		return 0, err
	}
	if percent > 0 {
		return min(there, max(1, int(math.Ceil(float64(there)*percent/100-1e-9)))), nil
	}
	if n > there {
		return 0, &Refusal{Code: "not-found", Message: fmt.Sprintf("%d %s are wanted, and %d match", n, kind.plural(), there)}
	}
	return n, nil
}

// CheckMode returns an error for an invalid mode, without looking at any items.
func CheckMode(mode string) error {
	if mode == "" || mode == "one" || mode == "all" {
		return nil
	}
	_, _, err := parseMode(mode)
	return err
}

// parseMode parses a number or a percentage.
func parseMode(mode string) (n int, percent float64, err error) {
	bad := invalid("mode %q: is one, all, a number from 1, or a percentage up to 100%%", mode)
	if text, ok := strings.CutSuffix(mode, "%"); ok {
		if percent, err = strconv.ParseFloat(text, 64); err != nil || !(percent > 0 && percent <= 100) {
			return 0, 0, bad
		}
		return 0, percent, nil
	}
	if n, err = strconv.Atoi(mode); err != nil || n < 1 {
		return 0, 0, bad
	}
	return n, 0, nil
}

// Refusal is the reason why a fault was not injected or healed. Nothing was changed.
type Refusal struct {
	// Code is the code of api.Error: not-found, ambiguous, conflict, invalid, unsupported.
	Code    string
	Message string
	// Try suggests what to do.
	Try string
}

func (r *Refusal) Error() string { return r.Message }

// Refuse returns a Refusal of a plan: the target is in the wrong state.
func Refuse(format string, args ...any) error {
	return &Refusal{Code: "conflict", Message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return &Refusal{Code: "invalid", Message: fmt.Sprintf(format, args...)}
}

// about prefixes an error with its target, unless the message names it. A refusal stays a refusal.
func about(l *lease, n int, err error) error {
	message := err.Error()
	if n >= 0 {
		target := l.Targets[n].Target
		if !names(message, target.Name) {
			message = fmt.Sprintf("%s %q: %s", target.Kind.noun(), target, message)
		}
	}
	if r := (*Refusal)(nil); errors.As(err, &r) {
		return &Refusal{Code: r.Code, Message: message, Try: r.Try}
	}
	return &targetError{message, err}
}

// names reports whether message contains name as a word.
func names(message, name string) bool {
	inWord := func(s string) bool { return strings.ContainsAny(s, "-_.abcdefghijklmnopqrstuvwxyz0123456789") }
	for rest := strings.ToLower(message); ; {
		before, after, found := strings.Cut(rest, strings.ToLower(name))
		if !found {
			return false
		}
		after = strings.TrimLeft(after, ".") + " " // the end of a sentence
		if (before == "" || !inWord(before[len(before)-1:])) && !inWord(after[:1]) {
			return true
		}
		rest = after
	}
}

// targetError is an error with another message.
type targetError struct {
	message string
	err     error
}

func (e *targetError) Error() string { return e.message }
func (e *targetError) Unwrap() error { return e.err }
