package provider

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/nsxtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

// startNSX starts an NSX Manager with a gateway and an IP pool. It returns the configuration for it, with the account in the Secret
// kube-system/nsx.
func startNSX(t *testing.T) (*nsx.Manager, func(conf)) {
	t.Helper()
	m := nsxtest.Start(t, nsx.Options{Accounts: []nsx.Account{{User: "ccm", Password: "right", Role: nsx.EnterpriseAdmin}}})
	m.Put("/infra/tier-1s/one", tree.Object{})
	m.Put("/infra/ip-pools/services", tree.Object{})
	m.Put("/infra/ip-pools/services/ip-subnets/one", tree.Object{
		"cidr": "10.20.0.0/24", "allocation_ranges": []any{tree.Object{"start": "10.20.0.5", "end": "10.20.0.50"}},
	})
	return m.Manager, func(c conf) {
		c["nsxt"] = conf{"host": m.Addr(), "caFile": m.CAFile, "secretName": "nsx", "secretNamespace": "kube-system"}
		c["loadBalancer"] = conf{
			"size": "SMALL", "tier1GatewayPath": "/infra/tier-1s/one", "ipPoolName": "services",
			"tcpAppProfileName": "default-tcp-lb-app-profile", "udpAppProfileName": "default-udp-lb-app-profile",
		}
	}
}

// nsxSecret sets the account of the Secret, "" for a Secret that does not exist.
func (w *live) nsxSecret(password string) {
	w.t.Helper()
	secrets := w.k8s.CoreV1().Secrets("kube-system")
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "nsx"}, Data: map[string][]byte{"username": []byte("ccm"), "password": []byte(password + "\n")}}
	_, err := secrets.Update(w.t.Context(), s, metav1.UpdateOptions{})
	if err != nil {
		_, err = secrets.Create(w.t.Context(), s, metav1.CreateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// balance returns the address of a Service of this name and class.
func (w *live) balance(name, class string) (string, error) {
	w.t.Helper()
	balancer, ok := w.LoadBalancer()
	if !ok {
		return "", errors.New("no load balancers")
	}
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "uid", Annotations: map[string]string{"loadbalancer.vmware.io/class": class}}}
	s.Spec.Type = corev1.ServiceTypeLoadBalancer
	s.Spec.Ports = []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}}
	status, err := balancer.EnsureLoadBalancer(w.t.Context(), "kubernetes", s, nil)
	if err != nil {
		return "", err
	}
	return status.Ingress[0].IP, nil
}

func (w *live) kubeSystem() {
	w.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "uid-of-the-cluster"}}
	if _, err := w.k8s.CoreV1().Namespaces().Create(w.t.Context(), ns, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// The account of NSX is followed in its Secret, and Events on the Secret report what becomes of logins.
func TestBalancerCredentials(t *testing.T) {
	m, sections := startNSX(t)
	w := follow(t, sections, nil)
	if _, err := w.balance("early", ""); err == nil || !strings.Contains(err.Error(), "the cluster's UID") {
		t.Errorf("without the namespace kube-system: %v", err)
	}
	w.kubeSystem()
	if _, err := w.balance("web", ""); err == nil || !strings.Contains(err.Error(), "secret kube-system/nsx: does not exist: put username and password into the Secret") {
		t.Errorf("without a Secret: %v", err)
	}
	w.expectEvent(ReasonNSXLoginFailed, "does not exist")
	w.nsxSecret("wrong")
	eventually(t, "refused", func() error {
		if _, err := w.balance("web", ""); err == nil || !strings.Contains(err.Error(), "login refused") {
			return fmt.Errorf("with a wrong password: %w", err)
		}
		return nil
	})
	w.nsxSecret("right")
	eventually(t, "an address", func() error {
		_, err := w.balance("web", "")
		return err
	})
	w.expectEvent(ReasonNSXConnected)
	if err := m.SetPassword("ccm", "new"); err != nil {
		t.Fatal(err)
	}
	w.nsxSecret("new")
	eventually(t, "an address with the new password", func() error {
		_, err := w.balance("late", "")
		return err
	})
	w.end()
	if n := m.EndSessions(); n > 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// A class is added without a restart, with the same session. Another NSX Manager, and no load balancers, need a restart.
func TestBalancerReload(t *testing.T) {
	m, sections := startNSX(t)
	w := follow(t, sections, nil)
	w.kubeSystem()
	w.nsxSecret("right")
	eventually(t, "an address", func() error {
		_, err := w.balance("web", "")
		return err
	})
	if _, err := w.balance("public", "public"); err == nil {
		t.Error("a class that is not configured")
	}
	w.edit(func(c conf) {
		sections(c)
		c["loadBalancerClass"] = conf{"public": conf{"ipPoolId": "services"}}
	})
	w.expectEvent(ReasonConfigReloaded, "loadBalancerClass.public.ipPoolId")
	if _, err := w.balance("public", "public"); err != nil {
		t.Error(err)
	}
	if n := m.EndSessions(); n != 1 {
		t.Errorf("%d sessions after the change, want the one of before", n)
	}
	w.edit(nil)
	w.expectEvent(ReasonConfigNeedsRestart, "loadBalancer.size", "in NSX would be left without an owner")
	if _, err := w.balance("still", ""); err != nil {
		t.Errorf("after the sections were removed: %v", err)
	}
	w.edit(func(c conf) {
		sections(c)
		c.section("nsxt")["host"] = "127.0.0.1:1"
	})
	w.expectEvent(ReasonConfigNeedsRestart, "nsxt.host")
}

// Load balancers that are added to the configuration need a restart: the service controller has not been started.
func TestBalancerAdded(t *testing.T) {
	_, sections := startNSX(t)
	w := follow(t, nil, nil)
	if _, ok := w.LoadBalancer(); ok {
		t.Error("there are load balancers without a configuration")
	}
	w.edit(sections)
	w.expectEvent(ReasonConfigNeedsRestart, "loadBalancer.size", "nsxt.host")
	if _, ok := w.LoadBalancer(); ok {
		t.Error("there are load balancers without a restart")
	}
}
