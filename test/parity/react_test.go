package parity

import (
	"context"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// react does something to a VM, has its kubelet fall silent with it, and returns how long the node took to show it; never
// when it did not.
func react(t *testing.T, l *lab.Lab, do func(context.Context) error, node string, shows func(lab.NodeChange) bool) time.Duration {
	t.Helper()
	if err := do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Kubelets.Fail(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var at time.Time
	_ = l.Nodes.Await(t.Context(), reaction, func(lab.NodeSet) string { // its error is that it never happened
		var ok bool
		if at, ok = l.Nodes.First(node, began.Add(-reaction), shows); !ok {
			return "not yet"
		}
		return ""
	})
	if at.IsZero() {
		return never
	}
	return max(at.Sub(began), 0)
}
