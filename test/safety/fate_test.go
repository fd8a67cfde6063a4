package safety

import (
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// fate is what became of one Node in a row; times are zero for what did not happen.
type fate struct {
	deleted     time.Time
	tainted     time.Time // when it got the shutdown taint first
	taintedNow  bool
	initialized time.Time
	changed     time.Time // when it first was not any more what it had been, taints apart
	change      string
}

// fateOf reads a Node's fate from the history of a row. before is the Node at its beginning, nil when there was none.
func fateOf(name string, before *lab.Snapshot, history []lab.NodeChange) fate {
	var f fate
	for _, c := range history {
		if c.Node.Name != name {
			continue
		}
		if c.Type == watch.Deleted {
			first(&f.deleted, c.At)
			continue
		}
		f.taintedNow = lab.HasTaint(c.Node, lab.ShutdownTaint)
		if f.taintedNow {
			first(&f.tainted, c.At)
		}
		if c.Node.Spec.ProviderID != "" && !lab.HasTaint(c.Node, lab.UninitializedTaint) {
			first(&f.initialized, c.At)
		}
		if before == nil {
			continue
		}
		now := lab.SnapshotOf(c.Node)
		now.Taints = before.Taints
		if diff := cmp.Diff(*before, now); diff != "" && f.changed.IsZero() {
			f.changed, f.change = c.At, diff
		}
	}
	return f
}

func first(t *time.Time, at time.Time) {
	if t.IsZero() {
		*t = at
	}
}
