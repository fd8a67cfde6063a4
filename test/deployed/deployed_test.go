package deployed

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// TestDeployed goes through everything that the cloud controller manager is deployed for, as the manifests deploy it, and
// then looks at what its account asked for on the way.
func TestDeployed(t *testing.T) {
	w := deploy(t, 1, overlay{})
	p := w.pods(1)[0]
	p.start()
	probes := p.container
	p.await(probes.LivenessProbe, "ok\n", 30*time.Second)
	p.await(probes.ReadinessProbe, "ok\n", 30*time.Second)
	p.report()
	w.awaitReady(1)

	w.Kubelets.Register(w.machines(topology.RoleWorker)...)
	t.Logf("initialized in %s", w.Await("every node is initialized, its own too", time.Minute, w.Initialized))
	if holder := w.holder(); holder == "" {
		t.Error("nobody holds the Lease")
	}

	w.powerOffAndDestroy()
	w.initializeAgain()
	w.changeConfig(p)
	w.stop(p)
	w.checkRefusals()
	w.checkRights()
}

// powerOffAndDestroy has a VM at each vCenter powered off, and another one deleted.
func (w *world) powerOffAndDestroy() {
	w.t.Helper()
	ctx := w.t.Context()
	for _, off := range []string{"us-1", "eu-1"} {
		if err := w.Machine(off).PowerOff(ctx); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, gone := range []string{"us-2", "eu-2"} {
		if err := w.Machine(gone).Destroy(ctx); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := w.Kubelets.Fail(ctx, "us-1", "eu-1", "us-2", "eu-2"); err != nil {
		w.t.Fatal(err)
	}
	took := w.Await("two nodes are tainted and two are gone", time.Minute, func(nodes lab.NodeSet) string {
		for _, gone := range []string{"us-2", "eu-2"} {
			if nodes[gone] != nil {
				return gone + " is still there"
			}
		}
		return nodes.Lacks("us-1", lab.ShutdownTaint) + nodes.Lacks("eu-1", lab.ShutdownTaint)
	})
	w.t.Logf("tainted and gone after %s", took)
	if err := w.Machine("us-1").PowerOn(ctx); err != nil {
		w.t.Fatal(err)
	}
	w.Await("the taint goes with the power back on", time.Minute, func(nodes lab.NodeSet) string {
		return nodes.Has("us-1", lab.ShutdownTaint)
	})
}

// initializeAgain taints a node again, as an operator may. The second initialization increments the count of the same Event.
func (w *world) initializeAgain() {
	w.t.Helper()
	nodes := w.Client.CoreV1().Nodes()
	const name = "us-3"
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error { // controllers write to it, too
		n, err := nodes.Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: lab.UninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule})
		_, err = nodes.Update(w.t.Context(), n, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.event("Node", name, func(e *corev1.Event) bool { return e.Reason == "Synced" && e.Count >= 2 })
}

// changeConfig breaks vsphere.conf, mends it, breaks it again, and then changes it for good. The Pod's events tell each.
func (w *world) changeConfig(p *pod) {
	w.t.Helper()
	change := func(conf, reason, message string, times int32) {
		w.t.Helper()
		w.writeConf(conf)
		if err := p.sync(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		e := w.event("Pod", p.Name, func(e *corev1.Event) bool {
			return e.Reason == reason && strings.Contains(e.Message, message) && e.Count >= times
		})
		if e.InvolvedObject.UID != p.UID || e.InvolvedObject.Namespace != p.Namespace {
			w.t.Errorf("%s is about %+v, the pod is %s", reason, e.InvolvedObject, p.UID)
		}
	}
	broken := w.conf + "oops: true\n"
	change(broken, provider.ReasonConfigRejected, "oops", 1)
	change(w.conf, provider.ReasonConfigReloaded, "in force unchanged", 1)
	change(broken, provider.ReasonConfigRejected, "oops", 2)
	change(w.conf+"nodes:\n  excludeInternalNetworkSubnetCidr: 192.0.2.0/24\n",
		provider.ReasonConfigReloaded, "nodes.excludeInternalNetworkSubnetCidr", 1)
}

// stop ends the container as a kubelet does. Every session is logged out; the Lease is left to run out, as every cloud
// controller manager leaves it.
func (w *world) stop(p *pod) {
	w.t.Helper()
	holder := w.holder()
	if n := w.sessions(); n == 0 {
		w.t.Error("no session at any vCenter")
	}
	took, err := p.terminate()
	if err != nil {
		w.t.Errorf("after TERM: %v", err)
	}
	w.t.Logf("ended in %s", took.Round(time.Millisecond))
	if n := w.sessions(); n > 0 {
		w.t.Errorf("%d sessions are left", n)
	}
	if now := w.holder(); now != holder {
		w.t.Errorf("the Lease is held by %q, was by %q", now, holder)
	}
}
