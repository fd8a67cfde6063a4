package deployed

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// leaseDuration is that of the test, in place of 15 s.
const leaseDuration = 4 * time.Second

// TestHandover: of two pods one leads, and the other one takes over when it is killed, and when it is stopped. Nodes see
// nothing of it. Both speak to the API server as to one that streams no lists.
func TestHandover(t *testing.T) {
	w := deploy(t, 2, overlay{
		args: []string{
			"--leader-elect-lease-duration=" + leaseDuration.String(),
			"--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms",
		},
		env: []corev1.EnvVar{{Name: "KUBE_FEATURE_WatchListClient", Value: "false"}},
	})
	workers := w.machines(topology.RoleWorker)
	w.Kubelets.Register(workers[:3]...)
	pods := w.pods(2)
	leader, other := pods[0], pods[1]
	leader.start()
	leader.await(leader.container.ReadinessProbe, "ok\n", 30*time.Second)
	w.Await("every node is initialized", time.Minute, w.Initialized)
	sessions := w.sessions()

	other.start()
	other.await(other.container.ReadinessProbe, "standby\n", 30*time.Second)
	other.await(other.container.LivenessProbe, "ok\n", 30*time.Second)
	leader.report()
	other.report()
	w.awaitReady(2)
	if n := w.sessions(); n != sessions {
		t.Errorf("%d sessions with a standby, %d without", n, sessions)
	}

	began := time.Now()
	w.handover(leader, other, "killed", func() error { return leader.process.Kill() }, workers[3])
	leader.start() // by the kubelet
	leader.await(leader.container.ReadinessProbe, "standby\n", 30*time.Second)
	w.handover(other, leader, "stopped", func() error {
		_, err := other.terminate()
		return err
	}, workers[4])

	other.start()
	other.await(other.container.ReadinessProbe, "standby\n", 30*time.Second)
	if _, err := other.terminate(); err != nil {
		t.Errorf("standby, after TERM: %v", err)
	}

	for _, c := range w.Nodes.Since(began) {
		if lab.Deleted(c) || lab.NotReady(c) {
			t.Errorf("%s: %s %v", c.Node.Name, c.Type, c.Node.Status.Conditions)
		}
	}
	w.checkRefusals()
	needed := w.needed()
	for r := range listRights() {
		if needed[r] == 0 {
			t.Errorf("%s: not needed here either", r)
		}
	}
}

// handover ends the leader and registers a node, which the standby initializes.
func (w *world) handover(leader, standby *pod, how string, end func() error, joining *lab.Machine) {
	w.t.Helper()
	holder, began := w.holder(), time.Now()
	if err := end(); err != nil {
		w.t.Errorf("leader, %s: %v", how, err)
	}
	w.Kubelets.Register(joining)
	w.Await("the standby initializes the node", time.Minute, w.Initialized)
	took := time.Since(began)
	w.t.Logf("leader %s: a node is initialized by the standby %s later", how, took.Round(time.Millisecond))
	if lasts := time.Duration(ptr.Deref(w.lease().Spec.LeaseDurationSeconds, 0)) * time.Second; lasts != leaseDuration {
		w.t.Errorf("leader %s: the Lease lasts %s, want %s", how, lasts, leaseDuration)
	}
	standby.await(standby.container.ReadinessProbe, "ok\n", 30*time.Second)
	if now := w.holder(); now == holder {
		w.t.Errorf("leader %s: the Lease is %s's still", how, now)
	}
}
