package faulttest_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
)

func TestProcesses(t *testing.T) {
	p := faulttest.NewProcesses("ccm", "node/worker-1")
	var _ fault.Processes = p
	broken := errors.New("broken")
	p.Fail("resume ccm", broken)
	for want, err := range map[error]error{
		nil:    errors.Join(p.Pause(t.Context(), "ccm"), p.Cut("node/worker-1", true), p.Restore("node/worker-1"), p.Kill(t.Context(), "ccm"), p.Restart(t.Context(), "ccm"), p.Scale(t.Context(), "ccm", 2)),
		broken: p.Resume(t.Context(), "ccm"),
	} {
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if err := p.Cut("etcd", false); err == nil || p.Replicas("ccm") != 2 {
		t.Errorf("%v, %d replicas", err, p.Replicas("ccm"))
	}
	want := []string{"pause ccm", "cut node/worker-1 silently", "mend node/worker-1", "kill ccm", "restart ccm", "scale ccm 2", "resume ccm"}
	if diff := cmp.Diff(want, p.Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestCluster(t *testing.T) {
	c := faulttest.NewCluster(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "vsphere-cloud-secret"}})
	var _ fault.Kubernetes = c
	ns, name := c.Credentials()
	if _, err := c.Client().CoreV1().Secrets(ns).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, account, err := c.Account("ccm"); err != nil || account != "cloud-controller-manager" {
		t.Errorf("%s, %v", account, err)
	}
	if _, _, err := c.Account("nobody"); err == nil {
		t.Error("nobody has an account")
	}
}
