package provider

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	nodecontroller "k8s.io/cloud-provider/controllers/node"
	"k8s.io/cloud-provider/controllers/nodelifecycle"
	"k8s.io/component-base/metrics/prometheus/controllers"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// newOnly fails the test if one of the old interfaces is used.
type newOnly struct{ *Provider }

func (newOnly) Instances() (cloudprovider.Instances, bool) {
	return struct{ cloudprovider.Instances }{}, true
}
func (newOnly) Zones() (cloudprovider.Zones, bool) { return struct{ cloudprovider.Zones }{}, true }

// runStock runs the stock node controllers with short periods.
func (w *world) runStock(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	factory := informers.NewSharedInformerFactory(w.k8s, 0)
	nodes := factory.Core().V1().Nodes()
	lifecycle, err := nodelifecycle.NewCloudNodeLifecycleController(nodes, w.k8s, newOnly{w.Provider}, 20*time.Millisecond, 1)
	if err != nil {
		t.Fatal(err)
	}
	initialize, err := nodecontroller.NewCloudNodeController(nodes, w.k8s, newOnly{w.Provider}, time.Second, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	w.SetInformers(factory)
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)
	var running sync.WaitGroup
	metrics := controllers.NewControllerManagerMetrics("test")
	running.Go(func() { lifecycle.Run(ctx, metrics) })
	running.Go(func() { initialize.RunWithContext(ctx, metrics) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		factory.Shutdown()
	})
}

// create makes nodes that are not ready.
func (w *world) create(t *testing.T, nodes ...*corev1.Node) {
	t.Helper()
	for _, n := range nodes {
		if len(n.Status.Conditions) == 0 {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
		}
		if _, err := w.k8s.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// until waits until a node is as wanted; nil if it must not exist.
func (w *world) until(t *testing.T, name, what string, cond func(*corev1.Node) bool) {
	t.Helper()
	eventually(t, name+" "+what, func() error {
		n, err := w.k8s.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			n, err = nil, nil
		}
		if err == nil && !cond(n) {
			err = fmt.Errorf("is %+v", n)
		}
		return err
	})
}

// The stock controllers with the provider: nodes whose VM is gone are deleted, all others stay, and those whose VM is off are
// tainted.
func TestStockControllers(t *testing.T) {
	w := start(t, nil)
	m, err := w.InstanceMetadata(t.Context(), namedNode("w2", ""))
	if err != nil {
		t.Fatal(err)
	}
	w.do(t, "/west/vm/w2", (*object.VirtualMachine).PowerOff)
	stay := map[string]string{
		"there": "vsphere://" + w1UUID, "swapped": "vsphere://" + w1Swapped, "kind": "kind://docker/kind/kind", "k3s": "k3s://k3s",
		"aws": "aws:///a/i-0", "blank": "vsphere://", "none": "",
	}
	for name, id := range stay {
		w.create(t, namedNode(name, id))
	}
	w.create(t, namedNode("off", m.ProviderID), namedNode("gone", "vsphere://"+unknown), uninitialized(namedNode("eu1", "")))
	w.runStock(t)
	w.until(t, "gone", "is deleted", func(n *corev1.Node) bool { return n == nil })
	w.until(t, "off", "is tainted", func(n *corev1.Node) bool {
		return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "node.cloudprovider.kubernetes.io/shutdown" })
	})
	w.until(t, "eu1", "is initialized", func(n *corev1.Node) bool {
		return initialized(n) && n.Spec.ProviderID == "vsphere://"+eu1UUID && n.Labels[corev1.LabelTopologyZone] == "eu-all" && len(n.Status.Addresses) == 3
	})
	w.gate(t, "eu", gate.Down)
	eventually(t, "the outage is noticed", func() error {
		if exists, err := w.InstanceExists(t.Context(), namedNode("probe", "vsphere://"+unknown)); err == nil {
			return fmt.Errorf("exists %v", exists)
		}
		return nil
	})
	w.create(t, namedNode("doubtful", "vsphere://"+unknown))
	w.expectEvent(t, "doubtful", ReasonVCenterUnavailable, `vcenter "eu"`)
	list, err := w.k8s.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != len(stay)+3 {
		t.Errorf("%d nodes", len(list.Items))
	}
	for _, e := range w.events(t, "") {
		if e.InvolvedObject.Kind == "Node" && e.Source.Component == UserAgent && e.Count > 1 {
			t.Errorf("%s is told %d times: %s: %s", e.InvolvedObject.Name, e.Count, e.Reason, e.Message)
		}
	}
	w.gate(t, "eu", gate.Up)
	w.until(t, "doubtful", "is deleted", func(n *corev1.Node) bool { return n == nil })
}

func namedNode(name, providerID string) *corev1.Node {
	n := &corev1.Node{}
	n.Name, n.Spec.ProviderID = name, providerID
	return n
}

// A node that registers again, with its taint and the same VM, is initialized again with the same result
// (kubernetes/cloud-provider-vsphere#218).
func TestTaintedAgain(t *testing.T) {
	w := start(t, nil)
	w.create(t, uninitialized(namedNode("eu1", "")))
	w.runStock(t)
	served := func(n *corev1.Node) bool {
		return initialized(n) && n.Spec.ProviderID == "vsphere://"+eu1UUID && n.Labels[corev1.LabelTopologyZone] == "eu-all"
	}
	w.until(t, "eu1", "is initialized", served)
	n, err := w.k8s.CoreV1().Nodes().Get(t.Context(), "eu1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.k8s.CoreV1().Nodes().Update(t.Context(), uninitialized(n), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until(t, "eu1", "is initialized again", served)
	if err := w.k8s.CoreV1().Nodes().Delete(t.Context(), "eu1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.create(t, uninitialized(namedNode("eu1", "")))
	w.until(t, "eu1", "is initialized as a new one", served)
}
