package kind

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// upstreamRelease is the one whose module and manifest are tried.
const upstreamRelease = "v1.36.0"

// Upstream's cloud controller manager, built from its module and deployed with its own release's manifest, initializes the
// nodes.
func TestUpstream(t *testing.T) {
	h := newHome(t)
	begin := time.Now()
	if r := h.Within(20*time.Minute, "ccm", "fetch", "module:"+upstreamRelease); r.Code != 0 {
		t.Fatalf("exit status %d\n%s", r.Code, r.Both())
	}
	took(t, "upstream "+upstreamRelease+" is built from its module", begin)
	begin = time.Now()
	s := h.up("upstream", "zones-us-eu", "--ccm", "module:"+upstreamRelease)
	took(t, "it is up", begin)
	s.bootSteps()
	s.checkNodes("zones-us-eu")
	found := false
	for _, p := range program.Kubectl[corev1.PodList](s.Sandbox, "get", "pods", "-n", "kube-system").Items {
		if images := imagesOf(p); strings.Contains(images, "cloud-provider-vsphere:"+upstreamRelease) {
			found = true
			// As the manifest has it: nothing of ours in its place.
			if owner(p) != "DaemonSet" || p.Spec.ServiceAccountName != "cloud-controller-manager" || !p.Spec.HostNetwork || p.Status.Phase != corev1.PodRunning {
				t.Errorf("pod %s of a %s, ServiceAccount %s, host network %t, %s", p.Name, owner(p), p.Spec.ServiceAccountName, p.Spec.HostNetwork, p.Status.Phase)
			}
		}
		if strings.Contains(imagesOf(p), "vsphere-cloud-controller-manager") {
			t.Errorf("our own runs beside it: pod %s", p.Name)
		}
	}
	if !found {
		t.Error("no pod has upstream's image")
	}
	s.Run("down")
	h.nothingLeft()
}
