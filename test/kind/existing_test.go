package kind

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// A cluster that was there before, with no registry: the image is carried there, a sandbox comes in, its VMs are nodes beside
// the cluster's own, its pod may be replaced, and when it goes the cluster is as it was.
func TestExisting(t *testing.T) {
	h := newHome(t)
	c := h.plain("plain")
	archive := filepath.Join(h.Dir, "programs.tar")
	h.Must("images", "save", archive, "--ground", "existing")
	carry(t, c, archive)
	before := content(t, c)

	there := []string{"--cluster", "existing", "--kubeconfig", c.Kubeconfig()}
	begin := time.Now()
	h.Must(append([]string{"--name", "guest", "up", "zones-us-eu", "--detach"}, there...)...)
	took(t, "a sandbox is in it", begin)
	s := h.attach("guest")
	s.checkNodes("zones-us-eu")
	if own := c.ExtraControlPlane(); slices.ContainsFunc(s.Nodes(), func(n api.Node) bool { return n.Name == own }) {
		t.Errorf("the cluster's own node %s counts as the sandbox's", own)
	}
	t.Run("a second one", func(t *testing.T) {
		h.Try(append([]string{"--name", "second", "up", "single", "--detach"}, there...)...).Wants(t, 4, `the cluster has the sandbox "guest" already`)
	})
	t.Run("vcenter", func(t *testing.T) {
		within(t, s).Run("govc", "--vcenter", s.Status().VCenters[0].Name, "find", "/", "-type", "m")
	})
	t.Run("power", func(t *testing.T) { within(t, s).checkLightPower() })
	t.Run("its pod is replaced", func(t *testing.T) {
		of := metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=sandbox"}
		pods := c.Client().CoreV1().Pods("vsphere-sandbox-guest")
		was, err := pods.List(t.Context(), of)
		if err != nil || len(was.Items) != 1 {
			t.Fatalf("%d pods, %v", len(was.Items), err)
		}
		if err := pods.Delete(t.Context(), was.Items[0].Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(1))}); err != nil {
			t.Fatal(err)
		}
		s := within(t, s)
		s.await("there is another pod", time.Minute, func() string {
			now, err := pods.List(t.Context(), of)
			if err != nil {
				return err.Error()
			}
			if len(now.Items) != 1 || now.Items[0].UID == was.Items[0].UID || now.Items[0].Status.Phase != corev1.PodRunning {
				return "the old one, or none that runs"
			}
			return ""
		})
		s.await("all nodes are well", 2*time.Minute, s.unwell)
	})

	begin = time.Now()
	s.Run("down")
	took(t, "it is down", begin)
	// Leases go with their Nodes, as soon as the cluster has seen that those are gone.
	for deadline := time.After(time.Minute); ; {
		diff := cmp.Diff(before, content(t, c))
		if diff == "" {
			break
		}
		select {
		case <-time.After(time.Second): // the end of a cluster must be polled
		case <-deadline:
			t.Fatalf("the cluster is not as it was (-before +after):\n%s", diff)
		}
	}
}

// checkLightPower turns a VM off and on: its node is not ready and known to be shut down, and then well again.
func (s *sandbox) checkLightPower() {
	s.T.Helper()
	const node = "worker-west-1"
	vm := s.Node(node).VM
	s.Run("vm", "power-off", vm)
	s.await("the node is known to be shut down", 3*time.Minute, func() string {
		n := s.Node(node)
		if n.Ready == "True" || !strings.Contains(strings.Join(n.Taints, " "), "node.cloudprovider.kubernetes.io/shutdown") {
			return "ready " + n.Ready + ", taints " + strings.Join(n.Taints, " ")
		}
		return ""
	})
	s.Run("vm", "power-on", vm)
	s.await("all nodes are well", 3*time.Minute, s.unwell)
}
