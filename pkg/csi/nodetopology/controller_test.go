package nodetopology_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

func node(name string, labels map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-of-" + "1", Labels: labels}}
}

func (r *rig) expect(ch <-chan answer, want volume.Segment) {
	r.t.Helper()
	got := <-ch
	if diff := cmp.Diff(want, got.segment); diff != "" || got.err != nil {
		r.t.Error(diff, got.err)
	}
}

// A node sends a request, the controller answers, and the Node owns the object.
func TestAnswer(t *testing.T) {
	r := newRig(t)
	r.topology.answers["u1"] = in("west")
	r.run()
	n := node("one", nil)
	r.expect(r.request("one", "u1", n), in("west"))
	u, err := r.object("one")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"nodeID": "one", "nodeuuid": "u1"}
	if diff := cmp.Diff(want, u.Object["spec"]); diff != "" {
		t.Error(diff)
	}
	if owners := u.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != n.UID || owners[0].Kind != "Node" {
		t.Errorf("owners %v", owners)
	}
	r.expect(r.request("one", "u1", n), in("west")) // again
	if e := <-r.events.Events; !strings.Contains(e, nodetopology.ReasonSucceeded) || !strings.Contains(e, "k8s-zone=west") {
		t.Errorf("event %q", e)
	}
}

// The answer and the existing labels of the node follow the topology.
func TestFollow(t *testing.T) {
	r := newRig(t, node("one", map[string]string{zone: "west", "topology.kubernetes.io/zone": "west"}), node("two", nil))
	r.topology.answers["u1"], r.topology.answers["u2"] = in("west"), in("west")
	r.run()
	r.expect(r.request("one", "u1", nil), in("west"))
	r.expect(r.request("two", "u2", nil), in("west"))
	r.topology.set("u1", in("east"))
	r.topology.set("u2", in("east"))
	r.expectStatus("one", nodetopology.Success, "east")
	r.expectStatus("two", nodetopology.Success, "east")
	labels, _ := r.labels.Labels("one")
	if diff := cmp.Diff(map[string]string{zone: "east", "topology.kubernetes.io/zone": "west"}, labels); diff != "" {
		t.Error(diff)
	}
	if labels, _ := r.labels.Labels("two"); len(labels) > 0 {
		t.Errorf("a node that never registered was labeled: %v", labels)
	}
	// Another client writes another value; the kubelet would refuse to register with the correct one.
	n := node("one", map[string]string{zone: "south"})
	if _, err := r.client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.labels.changed("one")
	eventually(t, "label is put right", func() error {
		if labels, _ := r.labels.Labels("one"); labels[zone] != "east" {
			return fmt.Errorf("labels %v", labels)
		}
		return nil
	})
}

// The kubelet must not get a topology before its node has the label.
func TestLabelsFirst(t *testing.T) {
	r := newRig(t, node("one", map[string]string{zone: "west"}))
	r.topology.answers["u1"] = in("east")
	var may atomic.Bool
	r.client.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		if may.Load() {
			return false, nil, nil
		}
		return true, nil, apierrors.NewInternalError(errors.New("not now"))
	})
	r.run()
	ch := r.request("one", "u1", nil)
	select {
	case a := <-ch:
		t.Fatalf("answered %v", a)
	case <-time.After(200 * time.Millisecond):
	}
	may.Store(true)
	r.expect(ch, in("east"))
}

// A missing tag is an error with its category, until the tag is attached.
func TestMissing(t *testing.T) {
	r := newRig(t)
	r.topology.answers["u1"] = errors.New(`node "one": no tag of category "k8s-zone"`)
	r.run()
	ch := r.request("one", "u1", nil)
	r.expectStatus("one", nodetopology.Error, `no tag of category "k8s-zone"`)
	r.topology.set("u1", in("west"))
	r.expect(ch, in("west"))
}

// A tag that is moved is detached first: that short time is not reported. A tag that stays away is.
func TestGrace(t *testing.T) {
	r := newRig(t)
	r.topology.answers["u1"] = in("west")
	r.run()
	r.expect(r.request("one", "u1", nil), in("west"))
	r.topology.set("u1", errors.New("no tag"))
	r.topology.set("u1", in("east"))
	r.expectStatus("one", nodetopology.Success, "east")
	r.topology.set("u1", errors.New("no tag"))
	r.expectStatus("one", nodetopology.Error, "no tag")
	r.topology.set("u1", in("west"))
	r.expectStatus("one", nodetopology.Success, "west")
	var all []string
	for len(r.events.Events) > 0 {
		all = append(all, <-r.events.Events)
	}
	want := []string{
		"Normal TopologyRetrievalSucceeded topology is k8s-zone=west",
		"Normal TopologyChanged topology changed from k8s-zone=west to k8s-zone=east",
		"Warning TopologyRetrievalFailed no tag",
		"Normal TopologyRetrievalSucceeded topology is k8s-zone=west",
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

// An unreachable vCenter invalidates nothing; a node without an answer gets an error after a while.
func TestUnavailable(t *testing.T) {
	r := newRig(t)
	r.topology.answers["u1"] = in("west")
	r.run()
	r.expect(r.request("one", "u1", nil), in("west"))
	down := fmt.Errorf("%w: vcenter us", volume.ErrUnavailable)
	r.topology.set("u1", down)
	r.topology.set("u2", down)
	ch := r.request("two", "u2", nil)
	r.expectStatus("two", nodetopology.Error, "vcenter us")
	r.expectStatus("one", nodetopology.Success, "west")
	r.topology.set("u2", in("east"))
	r.expect(ch, in("east"))
}

// A node that was replaced under its name by another VM does not get the old answer.
func TestReplaced(t *testing.T) {
	r := newRig(t)
	r.topology.answers["u1"], r.topology.answers["u2"] = in("west"), in("east")
	r.run()
	old, fresh := node("one", nil), node("one", nil)
	fresh.UID = "another"
	r.expect(r.request("one", "u1", old), in("west"))
	r.expect(r.request("one", "u2", fresh), in("east"))
	u, err := r.object("one")
	if err != nil {
		t.Fatal(err)
	}
	if owners := u.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != fresh.UID {
		t.Errorf("owners %v", owners)
	}
}

// Without an answer, the error has the reason in the end.
func TestNoAnswer(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := nodetopology.Request(ctx, r.dynamic, "one", "u1", nil)
	if !errors.Is(err, nodetopology.ErrNoAnswer) || !strings.Contains(err.Error(), "the driver's controller is running") {
		t.Error(err)
	}
	r.run()
	ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second) // long enough for an answer
	defer cancel()
	_, err = nodetopology.Request(ctx, r.dynamic, "one", "u1", nil)
	if !errors.Is(err, nodetopology.ErrNoAnswer) || !strings.Contains(err.Error(), "no VM for the node") {
		t.Error(err)
	}
}

// The object is deleted during a request: it is created again.
func TestDeleted(t *testing.T) {
	r := newRig(t)
	ch := r.request("one", "u1", nil)
	eventually(t, "object is there", func() error { _, err := r.object("one"); return err })
	if err := r.dynamic.Resource(nodetopology.Resource()).Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.topology.answers["u1"] = in("west")
	r.run()
	r.expect(ch, in("west"))
}
