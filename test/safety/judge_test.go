package safety

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// TestJudge: everything that the matrix is there to find is found, in histories that no CCM had to make.
func TestJudge(t *testing.T) {
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	times := when{struck: at(0), healed: at(10)}
	node := func(taints ...string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{ProviderID: "vsphere://1"}}
		for _, key := range taints {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key})
		}
		return n
	}
	change := func(seconds int, kind watch.EventType, n *corev1.Node) lab.NodeChange {
		return lab.NodeChange{At: at(seconds), Type: kind, Node: n}
	}
	deleted := func(seconds int) lab.NodeChange { return change(seconds, watch.Deleted, node()) }
	tainted := func(seconds int) lab.NodeChange { return change(seconds, watch.Modified, node(lab.ShutdownTaint)) }
	seen := func(seconds int) lab.NodeChange { return change(seconds, watch.Modified, node()) }
	moved := node()
	moved.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "n"}}

	blind := func(s state) expectation { return expectation{state: s, broken: true, answer: no, zones: no} }
	other := func(s state) expectation { return expectation{state: s, answer: no, zones: no} }
	clear := func(s state) expectation { return expectation{state: s, broken: true, answer: yes, zones: yes} }
	for _, tc := range []struct {
		name    string
		e       expectation
		history []lab.NodeChange
		want    string
	}{
		{"healthy, nothing happens", blind(healthy), nil, "kept ✓"},
		{"healthy, deleted", blind(healthy), []lab.NodeChange{deleted(3)}, "LOST +3.0s ✗"},
		{"healthy, deleted after the fault", other(healthy), []lab.NodeChange{deleted(12)}, "LOST heal+2.0s ✗"},
		{"healthy, its addresses change", blind(healthy), []lab.NodeChange{change(2, watch.Modified, moved)}, "changed +2.0s ✗"},
		{"not ready, heartbeats stop", blind(notReady), []lab.NodeChange{seen(1)}, "kept ✓"},
		{"not ready, deleted", blind(notReady), []lab.NodeChange{deleted(3)}, "LOST +3.0s ✗"},
		{"not ready, tainted and not any more", blind(notReady), []lab.NodeChange{tainted(3), seen(4)}, "tainted +3.0s though the VM is on ✗"},
		{"off, tainted when it can be known", blind(off), []lab.NodeChange{tainted(11)}, "tainted heal+1.0s ✓"},
		{"off, never tainted", blind(off), []lab.NodeChange{seen(1)}, "never tainted ✗"},
		{"off, deleted", blind(off), []lab.NodeChange{tainted(2), deleted(3)}, "LOST +3.0s ✗"},
		{"off, taint taken away", blind(off), []lab.NodeChange{tainted(2), seen(3)}, "tainted +2.0s, not any more ✗"},
		{"off at the other vCenter, tainted", other(off), []lab.NodeChange{tainted(2)}, "tainted +2.0s ✓"},
		{"off at the other vCenter, blocked", other(off), []lab.NodeChange{tainted(11)}, "tainted only heal+1.0s ✗"},
		{"off, a fault that is none", clear(off), []lab.NodeChange{tainted(11)}, "tainted only heal+1.0s ✗"},
		{"gone, deleted when confirmed", blind(gone), []lab.NodeChange{deleted(11)}, "deleted heal+1.0s ✓"},
		{"gone, deleted without being confirmed", blind(gone), []lab.NodeChange{deleted(1)}, "deleted +1.0s, unconfirmed ✗"},
		{"gone at the other vCenter, deleted without being confirmed", other(gone), []lab.NodeChange{deleted(1)}, "deleted +1.0s, unconfirmed ✗"},
		{"gone, never deleted", blind(gone), []lab.NodeChange{tainted(3)}, "never deleted ✗"},
		{"gone, a fault that is none", clear(gone), []lab.NodeChange{deleted(1)}, "deleted +1.0s ✓"},
		{"gone, blocked by a fault that is none", clear(gone), []lab.NodeChange{deleted(11)}, "deleted only heal+1.0s ✗"},
		{"gone, either", expectation{state: gone, broken: true, answer: maybe}, []lab.NodeChange{deleted(1)}, "deleted +1.0s ✓"},
		{"joins at the other vCenter", other(joining), []lab.NodeChange{change(0, watch.Added, node(lab.UninitializedTaint)), seen(2)}, "joined +2.0s ✓"},
		{"joins at the other vCenter, blocked", other(joining), []lab.NodeChange{seen(12)}, "joined only heal+2.0s ✗"},
		{"joins when it can", blind(joining), []lab.NodeChange{seen(12)}, "joined heal+2.0s ✓"},
		{"never joins", blind(joining), []lab.NodeChange{change(0, watch.Added, node(lab.UninitializedTaint))}, "never joined ✗"},
		{"joins and is deleted", blind(joining), []lab.NodeChange{seen(2), deleted(3)}, "LOST +3.0s ✗"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := lab.SnapshotOf(node())
			if got := judge(tc.e, fateOf("n", &before, tc.history), times).String(); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			other := lab.NodeChange{At: at(1), Type: watch.Deleted, Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}}}
			if got := judge(tc.e, fateOf("n", &before, append(tc.history, other)), times).String(); got != tc.want {
				t.Errorf("%s with another node's fate, want %s", got, tc.want)
			}
		})
	}
}
