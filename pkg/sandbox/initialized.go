package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// waitInitialized waits until every VM that is to be a node, is on and was not stopped on purpose has become a node that
// is ready and initialized; only ready, where nothing initializes nodes yet. Then it waits for the cloud controller manager.
func (s *Sandbox) waitInitialized(ctx context.Context) error {
	state := "initialized and ready"
	if s.opts.CCM.None {
		state = "ready"
	}
	if err := s.awaitEach(ctx, state, "was "+state, s.uninitialized, nil); err != nil {
		return err
	}
	return s.ccm.Wait(ctx)
}

// awaitEach waits until left names no more nodes, of so many in all; are and was say what the others are. However many there
// are, it gives up only when for [Sandbox.stepTime] none has become so. Blocker, which may be nil, returns what keeps one of
// them, "" when that is not known; it is part of the progress and of the error.
func (s *Sandbox) awaitEach(ctx context.Context, are, was string, left func() (waiting []string, total int), blocker func(context.Context, string) string) error {
	best, since := -1, time.Now()
	for seq := s.log.Last(); ; {
		began := time.Now()
		waiting, total := left()
		rest := lookRest * time.Since(began)
		if len(waiting) == 0 {
			return nil
		}
		if done := total - len(waiting); done > best {
			best, since = done, time.Now()
		}
		some := strings.Join(waiting[:min(3, len(waiting))], ", ")
		if blocker != nil && time.Since(since) >= blockedAfter {
			if why := blocker(ctx, waiting[0]); why != "" {
				some += ": " + why
			}
		}
		s.detail(fmt.Sprintf("%d of %d nodes %s; waiting for %s", total-len(waiting), total, are, some))
		wait := time.Until(since.Add(s.stepTime()))
		if blocker != nil {
			wait = min(wait, blockedAfter)
		}
		step, cancel := context.WithTimeout(ctx, wait)
		events, _, err := s.log.Wait(step, seq, 0)
		cancel()
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%w; waiting for %s", context.Cause(ctx), some)
		case errors.Is(err, context.DeadlineExceeded) && time.Since(since) < s.stepTime():
			continue
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("no further node %s within %s; waiting for %s", was, s.stepTime(), some)
		case err != nil:
			return err
		}
		seq = events[len(events)-1].Seq
		if backoff.Sleep(ctx, rest) != nil {
			return context.Cause(ctx)
		}
	}
}

// blockedAfter is after how long without progress the reason is looked for, and how often again.
const blockedAfter = 5 * time.Second

// lookRest is how much longer than a look at all nodes the rest after it is: one costs as much as there are nodes, and there
// is an event for each of them.
const lookRest = 9

// uninitialized names the nodes that are still to come, of so many in all.
func (s *Sandbox) uninitialized() (waiting []string, total int) {
	stopped := map[[2]string]bool{}
	for _, v := range s.world.VMs() {
		stopped[[2]string{v.VCenter, v.Name}] = v.Process == string(node.Hung)
	}
	for _, n := range s.world.Nodes() {
		if n.Power != string(node.On) || stopped[[2]string{n.VCenter, n.VM}] {
			continue
		}
		total++
		if !n.Registered || !n.Initialized && !s.opts.CCM.None || n.Ready != string(corev1.ConditionTrue) || notReady(n) {
			waiting = append(waiting, n.Name)
		}
	}
	return waiting, total
}

// notReady tells whether a node still has the taint that the node lifecycle controller takes away a moment after the
// node has become ready.
func notReady(n api.Node) bool {
	return slices.ContainsFunc(n.Taints, func(t string) bool { return strings.HasPrefix(t, corev1.TaintNodeNotReady+":") })
}
