// Package await waits in a boot step until every Node has reached a state, and reports the Nodes that it waits for.
//
// Floor 3.
package await

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// Waiter waits for Nodes.
type Waiter struct {
	Log *event.Log
	// Timeout is how long no further Node may reach the state.
	Timeout time.Duration
	// Detail receives what the Waiter waits for.
	Detail func(text string)
}

// State is a state that Nodes reach.
type State struct {
	// Are and Were name the state, for "2 of 3 nodes ready" and "no further node was ready".
	Are, Were string
	// Missing names the Nodes that have not reached the state, and counts all of them.
	Missing func() (waiting []string, total int)
	// Blocker returns why a Node has not reached the state, "" when that is unknown. It is part of the progress and of the
	// error. Optional.
	Blocker func(ctx context.Context, node string) string
}

// GaveUpError is the error of [Waiter.Each]: Nodes have not reached a state.
type GaveUpError struct {
	// Waiting are the names of these Nodes.
	Waiting []string
	err     error
}

// Error implements error.
func (e *GaveUpError) Error() string { return e.err.Error() }

// Unwrap returns the cause of the context when that ended the wait.
func (e *GaveUpError) Unwrap() error { return e.err }

const (
	// blockedAfter is the time without progress after which Blocker is called, and the pause before the next call.
	blockedAfter = 5 * time.Second
	// restFactor times the duration of Missing is the pause after it: there is an event for each Node, and each call of
	// Missing visits all of them.
	restFactor = 9
)

// Each waits until every Node has reached a state. It returns a [*GaveUpError] when Nodes have not.
func (w *Waiter) Each(ctx context.Context, s State) error {
	best, since := -1, time.Now()
	for seq := w.Log.Last(); ; {
		began := time.Now()
		waiting, total := s.Missing()
		rest := restFactor * time.Since(began)
		if len(waiting) == 0 {
			return nil
		}
		if done := total - len(waiting); done > best {
			best, since = done, time.Now()
		}
		first := strings.Join(waiting[:min(3, len(waiting))], ", ")
		if s.Blocker != nil && time.Since(since) >= blockedAfter {
			if why := s.Blocker(ctx, waiting[0]); why != "" {
				first += ": " + why
			}
		}
		w.Detail(fmt.Sprintf("%d of %d nodes %s; waiting for %s", total-len(waiting), total, s.Are, first))
		wait := time.Until(since.Add(w.Timeout))
		if s.Blocker != nil {
			wait = min(wait, blockedAfter)
		}
		step, cancel := context.WithTimeout(ctx, wait)
		events, _, err := w.Log.Wait(step, seq, 0)
		cancel()
		switch {
		case ctx.Err() != nil:
			return &GaveUpError{Waiting: waiting, err: fmt.Errorf("%w; waiting for %s", context.Cause(ctx), first)}
		case errors.Is(err, context.DeadlineExceeded) && time.Since(since) < w.Timeout:
			continue
		case errors.Is(err, context.DeadlineExceeded):
			return &GaveUpError{Waiting: waiting, err: fmt.Errorf("no further node %s within %s; waiting for %s", s.Were, w.Timeout, first)}
		case err != nil:
			return err
		}
		seq = events[len(events)-1].Seq
		if backoff.Sleep(ctx, rest) != nil {
			return context.Cause(ctx)
		}
	}
}

// Initialized is the state of Nodes that are registered, ready and, where a cloud controller manager runs (ccm),
// initialized. VMs that are off or hung are not counted.
func Initialized(w func() *world.World, ccm bool) State {
	missing := func() (waiting []string, total int) {
		stopped := map[[2]string]bool{}
		for _, v := range w().VMs() {
			stopped[[2]string{v.VCenter, v.Name}] = v.Process == string(node.Hung)
		}
		for _, n := range w().Nodes() {
			if n.Power != string(node.On) || stopped[[2]string{n.VCenter, n.VM}] {
				continue
			}
			total++
			if !n.Registered || ccm && !n.Initialized || n.Ready != string(corev1.ConditionTrue) || taintedNotReady(n) {
				waiting = append(waiting, n.Name)
			}
		}
		return waiting, total
	}
	if ccm {
		return State{Are: "initialized and ready", Were: "was initialized and ready", Missing: missing}
	}
	return State{Are: "ready", Were: "was ready", Missing: missing}
}

// taintedNotReady reports whether a Node has the not-ready taint. The node lifecycle controller removes it shortly after the
// Node is ready.
func taintedNotReady(n api.Node) bool {
	return slices.ContainsFunc(n.Taints, func(t string) bool { return strings.HasPrefix(t, corev1.TaintNodeNotReady+":") })
}
