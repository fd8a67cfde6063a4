package embedded

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/wire"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded/egress"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// nodes is a [Host] that only knows kubelets.
type nodes struct {
	Host
	kubelets map[string]Kubelet
}

func (n nodes) Kubelet(host string) (Kubelet, error) {
	if k, ok := n.kubelets[host]; ok {
		return k, nil
	}
	return Kubelet{}, errors.New("no VM")
}

func TestRoute(t *testing.T) {
	dir, err := instance.Create(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Remove()
	kubelet := func(edit func(*Kubelet)) Kubelet {
		k := Kubelet{
			Node: "worker-1", VM: world.VM{VM: api.VM{Name: "worker-1", Power: "on"}, Exists: true}, Process: node.Running, Dir: dir.Path("nodes", "us.vm-1"),
			Addresses: []string{"198.18.0.9"},
		}
		edit(&k)
		return k
	}
	cut := wire.New()
	defer cut.Close()
	cut.Cut(true)
	cluster, err := embedded.New(embedded.Options{Name: "test", Dir: dir.Path(), Speed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	if err := os.MkdirAll(dir.Path("nodes", "us.vm-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	g := &Ground{cluster: cluster, Config: Config{Instance: dir, Host: nodes{kubelets: map[string]Kubelet{
		"worker-1":   kubelet(func(*Kubelet) {}),
		"198.18.0.9": kubelet(func(*Kubelet) {}),
		"gone":       kubelet(func(k *Kubelet) { k.VM.Exists = false }),
		"off":        kubelet(func(k *Kubelet) { k.VM.Power, k.Process = "off", node.Stopped }),
		"booting":    kubelet(func(k *Kubelet) { k.Process = node.Stopped }),
		"suspended":  kubelet(func(k *Kubelet) { k.Process = node.Paused }),
		"hung":       kubelet(func(k *Kubelet) { k.Process = node.Hung }),
		"crashed":    kubelet(func(k *Kubelet) { k.Process = node.Crashing }),
		"cut":        kubelet(func(k *Kubelet) { k.Proxy = cut }),
		"light":      kubelet(func(k *Kubelet) { k.Light = true }),
	}}}}
	g.Metrics = "/m"
	kubelets, err := g.root(dir.Path("nodes", "us.vm-1"))
	if err != nil {
		t.Fatal(err)
	}
	socket := kubelets + "/kubelet.sock"
	for addr, want := range map[string]egress.Target{
		"worker-1:10250":                      {Network: "unix", Address: socket},
		"198.18.0.9:10250":                    {Network: "unix", Address: socket},
		"metrics-server.sandbox.internal:443": {Network: "unix", Address: "/m"},
		"127.0.0.1:8443":                      {Network: "tcp", Address: "127.0.0.1:8443"},
		"::1:10250":                           {Network: "tcp", Address: "[::1]:10250"},
		"localhost:10250":                     {Network: "tcp", Address: "localhost:10250"},
	} {
		i := strings.LastIndex(addr, ":")
		got, err := g.route(addr[:i], addr[i+1:])
		got.Refused = ""
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", addr, err, diff)
		}
	}
	if _, err := os.Stat(dir.Path("nodes", "us.vm-1", "kubelet.pem")); err != nil {
		t.Errorf("the certificate is not renewed for a new address: %v", err)
	}
	for addr, want := range map[string]string{
		"missing:10250":   "no VM",
		"gone:10250":      "VM worker-1 is gone",
		"off:10250":       "VM worker-1 is off",
		"booting:10250":   "the guest of VM worker-1 has not booted",
		"suspended:10250": "VM worker-1 is suspended",
		"hung:10250":      "VM worker-1 hangs",
		"crashed:10250":   "the kubelet of VM worker-1 has crashed, and restarts",
		"cut:10250":       "the network of VM worker-1 is cut",
		"light:10250":     "VM worker-1 is a light node: it has no kubelet, so no logs, exec, attach, port-forward and metrics",
		"worker-1:22":     "worker-1:22: the embedded control plane has no network of pods and Services",
		"10.96.0.10:53":   "10.96.0.10:53: the embedded control plane has no network of pods and Services",
	} {
		host, port, _ := strings.Cut(addr, ":")
		if got, err := g.route(host, port); err == nil || err.Error() != want {
			t.Errorf("%s: %+v, %v, want %q", addr, got, err, want)
		}
	}
}

// Each user has one role and no group, so that nothing else is granted to them.
func TestGrant(t *testing.T) {
	client := fake.NewClientset()
	for range 2 { // the second time after a restart of the control plane
		if err := grant(t.Context(), client); err != nil {
			t.Fatal(err)
		}
	}
	bound, err := client.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, b := range bound.Items {
		if len(b.Subjects) != 1 || b.Subjects[0].Kind != rbacv1.UserKind {
			t.Errorf("subjects %v", b.Subjects)
			continue
		}
		got[b.Subjects[0].Name] = b.RoleRef.Name
	}
	want := map[string]string{"kube-apiserver-kubelet-client": "system:kubelet-api-admin", "system:metrics-server": "system:metrics-server"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
