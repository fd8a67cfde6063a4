package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Await watches Nodes until complaint has none ("") and ends the test when it still has one after that time. It returns
// how long it took.
func (l *Lab) Await(what string, atMost time.Duration, complaint func(NodeSet) string) time.Duration {
	l.t.Helper()
	began := time.Now()
	if err := l.Nodes.Await(l.t.Context(), atMost, complaint); err != nil {
		l.t.Fatalf("%s: %v", what, err)
	}
	return time.Since(began)
}

// Await is [Lab.Await] for callers that continue after a failure.
func (n *Nodes) Await(ctx context.Context, atMost time.Duration, complaint func(NodeSet) string) error {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	for {
		changed := n.Changed()
		last := complaint(n.Now())
		if last == "" {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return fmt.Errorf("not within %s: %s", atMost, last)
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), last)
		}
	}
}

// Initialized complains unless a CCM has initialized the Nodes of all registered machines, addresses included, which come
// a moment after the rest.
func (l *Lab) Initialized(nodes NodeSet) string {
	missing, example := 0, ""
	for _, name := range l.Kubelets.Registered() {
		if n := nodes[name]; n == nil || HasTaint(n, UninitializedTaint) || n.Spec.ProviderID == "" || len(n.Status.Addresses) == 0 {
			missing, example = missing+1, name
		}
	}
	if missing > 0 {
		return fmt.Sprintf("%d nodes are not initialized, %s for one", missing, example)
	}
	return ""
}

// Names are the names of the Nodes, sorted.
func (s NodeSet) Names() []string { return slices.Sorted(maps.Keys(s)) }

// Lacks complains unless there is a Node of that name that has the taint.
func (s NodeSet) Lacks(name, taint string) string {
	switch n := s[name]; {
	case n == nil:
		return "node " + name + " does not exist"
	case !HasTaint(n, taint):
		return "node " + name + " has no taint " + taint
	}
	return ""
}

// Has complains unless there is a Node of that name and it does not have the taint.
func (s NodeSet) Has(name, taint string) string {
	switch n := s[name]; {
	case n == nil:
		return "node " + name + " does not exist"
	case HasTaint(n, taint):
		return "node " + name + " has the taint " + taint
	}
	return ""
}

// HasTaint reports whether a Node has a taint of that key.
func HasTaint(n *corev1.Node, key string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}
