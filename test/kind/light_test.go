package kind

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Light nodes beside containers: they are initialized, follow their VMs, and pods that need a real kubelet run in
// containers.
func TestLight(t *testing.T) {
	h := newHome(t)
	file, err := filepath.Abs("testdata/light.yaml")
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	s := h.up("light", file)
	took(t, "two containers and 150 light nodes", begin)
	if g := s.Status().Ground; g.Cluster != api.ClusterKind || g.Nodes != api.NodesMixed {
		t.Errorf("stands on %+v", g)
	}
	if n := s.containers(); len(n) != 2 {
		t.Errorf("containers %v, want two", n)
	}
	nodes := s.Nodes()
	if len(nodes) != 152 {
		t.Fatalf("%d nodes, want 152", len(nodes))
	}
	if why := s.unwell(); why != "" {
		t.Error(why)
	}
	network := map[netip.Addr]string{}
	for _, n := range nodes {
		a, err := netip.ParseAddr(n.Addresses[0])
		if err != nil {
			t.Fatal(err)
		}
		if other := network[a]; other != "" {
			t.Errorf("%s and %s have the address %s", other, n.Name, a)
		}
		network[a] = n.Name
		light := strings.HasPrefix(n.Name, "many-")
		if marked := strings.Contains(fmt.Sprint(n.Taints), "sandbox.vsphere/light:NoSchedule"); marked != light {
			t.Errorf("node %s: taints %v", n.Name, n.Taints)
		}
		if n.Region != "us" || n.Zone != "us-west" {
			t.Errorf("node %s: region %q, zone %q", n.Name, n.Region, n.Zone)
		}
	}
	t.Run("pods", func(t *testing.T) { within(t, s).checkPodsRun() })
	t.Run("power", func(t *testing.T) {
		s := within(t, s)
		s.Run("vm", "power-off", "many-7")
		s.await("the node is known to be shut down", time.Minute, func() string {
			n := s.Node("many-7")
			if n.Ready == "True" || !strings.Contains(fmt.Sprint(n.Taints), "node.cloudprovider.kubernetes.io/shutdown") {
				return fmt.Sprintf("ready %s, taints %v", n.Ready, n.Taints)
			}
			return ""
		})
		s.Run("vm", "power-on", "many-7")
		s.await("all nodes are well", time.Minute, s.unwell)
	})
	t.Run("more", func(t *testing.T) {
		s := within(t, s)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s.Run("topology", "apply", s.File("more.yaml", strings.Replace(string(text), "replicas: 150", "replicas: 152", 1)))
		s.await("there are two more, and all are well", time.Minute, func() string {
			if n := len(s.Nodes()); n != 154 {
				return fmt.Sprintf("%d nodes", n)
			}
			return s.unwell()
		})
		for _, name := range []string{"many-1", "many-151", "many-152"} {
			if a := s.Node(name).Addresses; len(a) != 1 || !inNetwork(t, a[0]) {
				t.Errorf("node %s has the addresses %v", name, a)
			}
		}
	})
	s.Run("down")
	h.nothingLeft()
}

// inNetwork reports whether an address is one of the containers' network.
func inNetwork(t *testing.T, address string) bool {
	t.Helper()
	out, err := docker("network", "inspect", "kind", "--format", "{{range .IPAM.Config}}{{.Subnet}} {{end}}")
	if err != nil {
		t.Fatal(err)
	}
	a := netip.MustParseAddr(address)
	return slices.ContainsFunc(strings.Fields(out), func(s string) bool { return netip.MustParsePrefix(s).Contains(a) })
}

// checkPodsRun checks that light nodes have no pods that a user needs: only those of the cluster's own DaemonSets may be
// there.
func (s *sandbox) checkPodsRun() {
	s.T.Helper()
	var pods corev1.PodList
	if err := json.Unmarshal([]byte(s.Run("kubectl", "get", "pods", "-A", "-o", "json")), &pods); err != nil {
		s.T.Fatal(err)
	}
	dns := 0
	for _, p := range pods.Items {
		if strings.HasPrefix(p.Name, "coredns") {
			dns++
		}
		if !strings.HasPrefix(p.Spec.NodeName, "many-") {
			continue
		}
		if ref := metav1.GetControllerOf(&p); ref == nil || ref.Kind != "DaemonSet" || strings.HasPrefix(p.Name, "vsphere") {
			s.T.Errorf("pod %s/%s is on the light node %s", p.Namespace, p.Name, p.Spec.NodeName)
		}
	}
	if dns == 0 {
		s.T.Error("no pod of CoreDNS was looked at")
	}
}

// A scenario about light nodes is the same on kind.
func TestLightScenario(t *testing.T) {
	h := newHome(t)
	h.Within(10*time.Minute, "scenario", "run", "light-outage", "--cluster", "kind", "--kind-image", node).Wants(t, 0, "1 passed")
	h.nothingLeft()
}
