package nodetopology_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

const zone = "topology.csi.vmware.com/k8s-zone"

func in(z string) volume.Segment { return volume.Segment{zone: z} }

// fakeTopology returns the test's answers by UUID.
type fakeTopology struct {
	mu      sync.Mutex
	answers map[string]any // volume.Segment or error
	listen  func([]string)
}

func (f *fakeTopology) Segment(_ context.Context, node, uuid string) (volume.Segment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch a := f.answers[uuid].(type) {
	case volume.Segment:
		return a, nil
	case error:
		return nil, a
	}
	return nil, fmt.Errorf("node %q: %w", node, volume.ErrNodeGone)
}

func (f *fakeTopology) Listen(l func([]string)) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listen = l
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.listen = nil
	}
}

func (f *fakeTopology) set(uuid string, answer any) {
	f.mu.Lock()
	f.answers[uuid] = answer
	l := f.listen
	f.mu.Unlock()
	if l != nil {
		l(nil)
	}
}

// fakeLabels are the labels of a fake client's nodes, read each time.
type fakeLabels struct {
	client *kubefake.Clientset
	mu     sync.Mutex
	listen func(string)
}

func (f *fakeLabels) Labels(node string) (map[string]string, bool) {
	n, err := f.client.CoreV1().Nodes().Get(context.Background(), node, metav1.GetOptions{})
	if err != nil {
		return nil, false
	}
	return maps.Clone(n.Labels), true
}

func (f *fakeLabels) ListenNode(l func(string)) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listen = l
	return func() {}
}

func (f *fakeLabels) changed(node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listen(node)
}

// conflicts makes the fake client refuse updates of outdated objects, as an API server does.
func conflicts(client *fake.FakeDynamicClient) {
	var mu sync.Mutex
	versions := map[string]int{}
	client.PrependReactor("update", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		u, ok := action.(clienttesting.UpdateAction).GetObject().(*unstructured.Unstructured)
		if !ok {
			return false, nil, nil
		}
		mu.Lock()
		defer mu.Unlock()
		had, _ := strconv.Atoi(u.GetResourceVersion())
		if had != versions[u.GetName()] {
			return true, nil, apierrors.NewConflict(nodetopology.Resource().GroupResource(), u.GetName(), errors.New("changed"))
		}
		versions[u.GetName()]++
		u.SetResourceVersion(strconv.Itoa(had + 1))
		return false, nil, nil
	})
}

type rig struct {
	t        *testing.T
	dynamic  *fake.FakeDynamicClient
	client   *kubefake.Clientset
	topology *fakeTopology
	labels   *fakeLabels
	events   *record.FakeRecorder
}

func newRig(t *testing.T, nodes ...runtime.Object) *rig {
	client := kubefake.NewClientset(nodes...)
	r := &rig{
		t: t, client: client,
		dynamic: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			nodetopology.Resource(): nodetopology.Kind + "List",
		}),
		topology: &fakeTopology{answers: map[string]any{}},
		labels:   &fakeLabels{client: client},
		events:   record.NewFakeRecorder(1000),
	}
	conflicts(r.dynamic)
	return r
}

// run runs a controller until the test ends, and returns when it listens.
func (r *rig) run() {
	r.t.Helper()
	c := nodetopology.New(nodetopology.Config{
		Dynamic: r.dynamic, Client: r.client, Labels: r.labels, Topology: r.topology, Events: r.events,
		Grace: 200 * time.Millisecond, RetryMin: 10 * time.Millisecond, RetryMax: 50 * time.Millisecond,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := c.Run(ctx); err != nil {
			r.t.Error(err)
		}
	}()
	r.t.Cleanup(func() {
		cancel()
		<-done
	})
}

// request requests a node's topology in the background.
func (r *rig) request(node, uuid string, owner *corev1.Node) <-chan answer {
	ch := make(chan answer, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		segment, err := nodetopology.Request(ctx, r.dynamic, node, uuid, owner)
		ch <- answer{segment, err}
	}()
	return ch
}

type answer struct {
	segment volume.Segment
	err     error
}

func (r *rig) object(name string) (*unstructured.Unstructured, error) {
	return r.dynamic.Resource(nodetopology.Resource()).Get(context.Background(), name, metav1.GetOptions{})
}

// expectStatus waits for the status of an object.
func (r *rig) expectStatus(name, status, text string) {
	r.t.Helper()
	eventually(r.t, name+" says "+status, func() error {
		u, err := r.object(name)
		if err != nil {
			return err
		}
		got, _, _ := unstructured.NestedString(u.Object, "status", "status")
		if is := fmt.Sprint(u.Object["status"]); got != status || !strings.Contains(is, text) {
			return fmt.Errorf("status is %s", is)
		}
		return nil
	})
}

func eventually(t *testing.T, what string, cond func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = cond(); err == nil {
			return
		}
	}
	t.Fatalf("not within 30 s: %s: %v", what, err)
}
