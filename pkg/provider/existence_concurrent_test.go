package provider

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
)

// The stock controller deletes by name, so InstanceExists does not return false for a node that has been replaced in between, runs
// on another VM, or is ready again (kubernetes/cloud-provider-vsphere#397, #501).
func TestExistsNodeChangedInBetween(t *testing.T) {
	w := start(t, nil)
	n := node("gone", "vsphere://"+unknown, unknown)
	n.UID = "one"
	nodes := w.k8s.CoreV1().Nodes()
	if _, err := nodes.Create(t.Context(), n.DeepCopy(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(w.k8s, 0)
	w.SetInformers(factory)
	factory.StartWithContext(t.Context())
	factory.WaitForCacheSyncWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	if exists, err := w.InstanceExists(t.Context(), n); exists || err != nil {
		t.Fatalf("as it is: exists %v, %v", exists, err)
	}
	for name, change := range map[string]func(*corev1.Node){
		"replaced": func(n *corev1.Node) { n.UID = "two" },
		"bound":    func(n *corev1.Node) { n.Spec.ProviderID = "vsphere://" + w1UUID },
		"moved":    func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = w1UUID },
		"ready": func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		},
		"deleted": nil,
	} {
		t.Run(name, func(t *testing.T) {
			now := n.DeepCopy()
			if change == nil {
				if err := nodes.Delete(t.Context(), n.Name, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				defer func() {
					if _, err := nodes.Create(context.Background(), n.DeepCopy(), metav1.CreateOptions{}); err != nil {
						t.Fatal(err)
					}
				}()
			} else {
				change(now)
				if _, err := nodes.Update(t.Context(), now, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, "an error", func() error {
				if exists, err := w.InstanceExists(t.Context(), n); exists || !errors.Is(err, errOutdated) {
					return errors.Join(errors.New("no error of this kind"), err)
				}
				return nil
			})
		})
	}
	for _, e := range w.events(t, "") {
		if e.InvolvedObject.Kind == "Node" && e.Reason != ReasonVMGone {
			t.Errorf("told: %s: %s", e.Reason, e.Message)
		}
	}
}

// A configuration that is no longer in force must not report a VM gone: the new one may have its vCenter.
func TestExistsConfigChangedInBetween(t *testing.T) {
	w := start(t, nil)
	n := node("gone", "vsphere://"+unknown, unknown)
	g := w.now()
	if why := w.outdated(g, n); why != "" {
		t.Error(why)
	}
	next := *g
	w.current.Store(&next)
	defer w.current.Store(g)
	if why := w.outdated(g, n); why == "" {
		t.Error("the answer counts")
	}
}
