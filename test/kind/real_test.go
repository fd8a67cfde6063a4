package kind

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Containers are the nodes of VMs in a real vCenter, for which another process stands in: they have the addresses of the
// VMs, pods on one reach pods on the other, and powering a VM off outside of the sandbox ends its container.
func TestReal(t *testing.T) {
	far, h := newHome(t), newHome(t)
	topology, err := filepath.Abs(filepath.Join("testdata", "real.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	env := filepath.Join(t.TempDir(), "env")
	far.Must("--name", "far", "vcenter", "up", "-f", topology, "-E", env, "--detach")
	text, err := os.ReadFile(env)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "="); ok {
			h.Env = append(h.Env, name+"="+strings.Trim(value, "'"))
		}
	}
	real := []string{"--vcenter-config", "env", "--control-plane", "cp-*"}
	h.Try(append([]string{"--name", "real", "up", "--detach", "--cluster", "kind", "--csi", "builtin"}, real...)...).Wants(t, 2, "disks of a real VM", "try: ")

	begin := time.Now()
	s := h.up("real", real...)
	took(t, "two containers for two VMs", begin)
	if g := s.Status().Ground; g.Cluster != api.ClusterKind || g.Nodes != api.NodesContainer || g.Inventory != api.InventoryReal {
		t.Errorf("stands on %+v", g)
	}
	if why := s.unwell(); why != "" {
		t.Error(why)
	}
	for name, vm := range s.vms() {
		n := s.Node(name)
		if len(vm.Addresses) == 0 || !slices.Contains(n.Addresses, vm.Addresses[0]) || n.Region != "us" || n.Zone != "us-west" {
			t.Errorf("node %+v of VM %+v", n, vm)
		}
	}
	t.Run("kubelets", func(t *testing.T) { within(t, s).checkKubelets() })
	t.Run("DNS", func(t *testing.T) { within(t, s).checkDNS() })
	t.Run("power", func(t *testing.T) {
		s := within(t, s)
		container := s.container("worker-1")
		far.Must("--name", "far", "vm", "power-off", "worker-1")
		s.await("the node is known to be shut down", 2*time.Minute, func() string {
			n := s.Node("worker-1")
			if n.Ready == "True" || !strings.Contains(fmt.Sprint(n.Taints), "node.cloudprovider.kubernetes.io/shutdown") {
				return fmt.Sprintf("ready %s, taints %v", n.Ready, n.Taints)
			}
			return ""
		})
		if out, err := docker("inspect", "--format", "{{.State.Running}}", container); err != nil || strings.TrimSpace(out) != "false" {
			t.Errorf("its container runs: %s, %v", out, err)
		}
		far.Must("--name", "far", "vm", "power-on", "worker-1")
		s.await("all nodes are well", 2*time.Minute, s.unwell)
		s.checkDNS() // a kubelet that has just started knows no pods yet
		s.checkKubelets()
	})
	t.Run("somebody restarts a container", func(t *testing.T) {
		s := within(t, s)
		if out, err := docker("restart", "--time", "1", s.container("cp-1")); err != nil {
			t.Fatal(err, out)
		}
		s.checkDNS()
		s.await("all nodes are well", 3*time.Minute, s.unwell)
		s.checkKubelets()
	})
	s.Run("down")
	h.nothingLeft()
	far.Must("--name", "far", "down")
}

// checkDNS wants every node to reach the pods of the cluster's DNS, on whichever node they are.
func (s *sandbox) checkDNS() {
	s.T.Helper()
	s.await("nodes reach the pods of the DNS", 2*time.Minute, func() string {
		r := s.Try("--name", s.Name, "kubectl", "get", "pods", "-n", "kube-system", "-l", "k8s-app=kube-dns", "-o", "json")
		var pods corev1.PodList
		if err := json.Unmarshal([]byte(r.Out), &pods); err != nil || len(pods.Items) == 0 {
			return r.Both()
		}
		for _, p := range pods.Items {
			if p.Status.PodIP == "" {
				return p.Name + " has no address"
			}
			for _, node := range []string{"cp-1", "worker-1"} {
				out, err := docker("exec", s.container(node), "timeout", "10", "bash", "-c", "</dev/tcp/"+p.Status.PodIP+"/8181")
				if err != nil {
					return fmt.Sprintf("from %s to %s, %s on %s: %v\n%s", node, p.Name, p.Status.PodIP, p.Spec.NodeName, err, out)
				}
			}
		}
		return ""
	})
}
