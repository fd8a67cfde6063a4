package controllers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestShutdownTaintFollowsNudge(t *testing.T) {
	in(t, func(t *testing.T) {
		r := start(t, settings{}, notReady(boundNode(1)), notReady(boundNode(2)))
		settle(time.Second)
		before := r.cloud.counts()
		r.cloud.set(func(h *hooks) {
			h.shutdown = func(*corev1.Node) (bool, error) { return true, nil }
		})
		settle(time.Minute)
		if isShutdown(r.node(name(1))) {
			t.Fatal("tainted without a nudge: this proves nothing")
		}
		r.nudges.Changed(providerID(1))
		settle(110 * time.Millisecond)
		if !isShutdown(r.node(name(1))) {
			t.Error("no shutdown taint")
		}
		if after := r.cloud.counts(); after["exists "+name(2)] != before["exists "+name(2)] {
			t.Error("a node that was not nudged was looked at")
		}
	})
}

func TestDeletionFollowsNudge(t *testing.T) {
	in(t, func(t *testing.T) {
		r := start(t, settings{}, notReady(boundNode(1)), boundNode(2))
		settle(time.Second)
		r.cloud.set(func(h *hooks) {
			h.exists = func(context.Context, *corev1.Node) (bool, error) { return false, nil }
		})
		r.nudges.Changed(providerID(1))
		r.nudges.Changed(providerID(2))
		settle(110 * time.Millisecond)
		if r.node(name(1)) != nil {
			t.Error("the node is still there")
		}
		if r.node(name(2)) == nil {
			t.Error("a node that is ready has been deleted")
		}
	})
}

// On an error nothing is deleted, with or without a nudge; when it is over, a nudge is enough.
func TestDoubtDeletesNothing(t *testing.T) {
	in(t, func(t *testing.T) {
		r := start(t, settings{}, notReady(boundNode(1)))
		r.cloud.set(func(h *hooks) {
			h.exists = func(context.Context, *corev1.Node) (bool, error) { return false, errors.New("vcenter is out of reach") }
		})
		for range 100 {
			r.nudges.Changed(providerID(1))
			r.nudges.ChangedAll()
			settle(time.Second)
		}
		if r.node(name(1)) == nil {
			t.Fatal("deleted in doubt")
		}
		r.cloud.set(func(h *hooks) {
			h.exists = func(context.Context, *corev1.Node) (bool, error) { return false, nil }
		})
		r.nudges.ChangedAll()
		settle(time.Second)
		if r.node(name(1)) != nil {
			t.Error("the node is still there")
		}
	})
}

func TestReadinessIsANudge(t *testing.T) {
	in(t, func(t *testing.T) {
		r := start(t, settings{}, boundNode(1))
		r.cloud.set(func(h *hooks) {
			h.shutdown = func(*corev1.Node) (bool, error) { return true, nil }
		})
		settle(time.Minute)
		r.update(name(1), func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown })
		settle(time.Millisecond)
		if !isShutdown(r.node(name(1))) {
			t.Error("not tainted when it ceased to be ready")
		}
		r.update(name(1), func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionTrue })
		settle(time.Millisecond)
		if isShutdown(r.node(name(1))) {
			t.Error("still tainted when it became ready")
		}
	})
}

// A vCenter that delays a confirmation must not keep the controller from nodes in other vCenters.
func TestSlowAnswersDoNotBlockOthers(t *testing.T) {
	in(t, func(t *testing.T) {
		nodes := boundNodes(10)
		for _, node := range nodes {
			notReady(node)
		}
		r := start(t, settings{}, nodes...)
		settle(time.Second)
		r.cloud.set(func(h *hooks) {
			h.exists = func(ctx context.Context, node *corev1.Node) (bool, error) {
				if node.Name < name(3) {
					select {
					case <-time.After(10 * time.Second):
					case <-ctx.Done():
					}
					return false, errors.New("deadline exceeded")
				}
				return true, nil
			}
			h.shutdown = func(*corev1.Node) (bool, error) { return true, nil }
		})
		r.nudges.ChangedAll()
		settle(1200 * time.Millisecond)
		for i := range nodes {
			if got, want := isShutdown(r.node(name(i))), i >= 3; got != want {
				t.Errorf("%s: shutdown taint %v, want %v", name(i), got, want)
			}
		}
	})
}

// Nudges during a round count for the next one, which then does not wait for its period.
func TestNewsDuringARound(t *testing.T) {
	in(t, func(t *testing.T) {
		r := start(t, settings{}, notReady(boundNode(1)), notReady(boundNode(2)))
		settle(time.Second)
		r.cloud.set(func(h *hooks) {
			h.exists = func(context.Context, *corev1.Node) (bool, error) {
				time.Sleep(10 * time.Second)
				return true, nil
			}
		})
		r.nudges.ChangedAll()
		settle(5 * time.Second)
		r.cloud.set(func(h *hooks) {
			h.exists = func(context.Context, *corev1.Node) (bool, error) { return false, nil }
		})
		r.nudges.Changed(providerID(1)) // while a controller has it
		settle(time.Second)
		r.nudges.ChangedAll()
		settle(5 * time.Second)
		for i := 1; i <= 2; i++ {
			if r.node(name(i)) != nil {
				t.Errorf("%s is still there", name(i))
			}
		}
	})
}
