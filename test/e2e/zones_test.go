package e2e

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// Every scenario that comes with the program boots, and its nodes are what the topology says. TestZones and TestSingle look
// at the two that they boot.
func TestScenarios(t *testing.T) {
	t.Parallel()
	long(t)
	for _, name := range scenarios.Names() {
		if name == "zones-us-eu" || name == "single" {
			continue
		}
		t.Run(name, func(t *testing.T) { asTheTopologySays(newHome(t).up("sc", name)) })
	}
}

// asTheTopologySays: the zone of a node is that of the nearest tag, its providerID is the VM's BIOS UUID, its addresses are
// those of the guest.
func asTheTopologySays(s *sandbox) {
	t := s.T
	want, err := scenarios.Load(s.Status().Topology)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range want.Nodes() { // they follow the end of the taint
		s.Await("addresses of "+ref.VM.Hostname, reaction, func() bool { return len(s.Node(ref.VM.Hostname).Addresses) > 0 })
	}
	nodes := program.Kubectl[corev1.NodeList](s.Sandbox, "get", "nodes")
	byName := map[string]corev1.Node{}
	for _, n := range nodes.Items {
		byName[n.Name] = n
	}
	if got := len(nodes.Items); got != len(want.Nodes()) {
		t.Errorf("%d nodes, want %d", got, len(want.Nodes()))
	}
	for _, ref := range want.Nodes() {
		n, ok := byName[ref.VM.Hostname]
		if !ok {
			t.Errorf("node %s: not there", ref.VM.Hostname)
			continue
		}
		checkNode(t, n, ref, want.Place(ref))
	}
}

func checkNode(t *testing.T, n corev1.Node, ref topology.VMRef, place topology.Place) {
	t.Helper()
	equal := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("node %s: %s is %q, want %q", n.Name, what, got, want)
		}
	}
	equal("region", n.Labels[corev1.LabelTopologyRegion], place.Region)
	equal("zone", n.Labels[corev1.LabelTopologyZone], place.Zone)
	equal("providerID", n.Spec.ProviderID, "vsphere://"+strings.ToLower(ref.VM.UUID))
	equal("systemUUID", strings.ToLower(n.Status.NodeInfo.SystemUUID), strings.ToLower(ref.VM.UUID))
	equal("kubelet", n.Status.NodeInfo.KubeletVersion, release.Default().Version)
	equal("cpus", n.Status.Capacity.Cpu().String(), itoa(ref.VM.CPUs))
	equal("memory", itoa(n.Status.Capacity.Memory().Value()), itoa(int64(ref.VM.Memory)))
	if _, ok := n.Labels["node-role.kubernetes.io/control-plane"]; ok != (ref.VM.Role == topology.RoleControlPlane) {
		t.Errorf("node %s: control-plane label present is %t, role %s", n.Name, ok, ref.VM.Role)
	}
	for _, taint := range n.Spec.Taints {
		if taint.Key == taintUninitialized {
			t.Errorf("node %s: still has taint %s", n.Name, taint.Key)
		}
	}
	var want, got []string
	for _, nic := range ref.VM.NICs {
		for _, a := range nic.Addresses {
			ip, _, _ := strings.Cut(a, "/")
			want = append(want, ip)
		}
	}
	for _, a := range n.Status.Addresses {
		switch a.Type {
		case corev1.NodeHostName:
			equal("Hostname address", a.Address, ref.VM.Hostname)
		default:
			if !slices.Contains(got, a.Address) {
				got = append(got, a.Address)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("node %s: addresses %v, want the guest's %v", n.Name, got, want)
	}
}

// The labels that people copy from the zones tutorial, read the way they read them.
func zoneLabelsByDatacenter(s *sandbox) {
	t := s.T
	out := s.Run("kubectl", "get", "nodes", "--no-headers",
		"-o=custom-columns=N:.metadata.name,R:.metadata.labels.topology\\.kubernetes\\.io/region,Z:.metadata.labels.topology\\.kubernetes\\.io/zone")
	zone := map[string]string{"dcwest": "us us-west", "dceast": "us us-east", "dceu": "eu eu-all"}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 6 {
		t.Fatalf("%d nodes, want 6:\n%s", len(lines), out)
	}
	for _, line := range lines {
		f := strings.Fields(line)
		n := s.Node(f[0])
		if got, want := strings.Join(f[1:], " "), zone[n.Datacenter]; got != want {
			t.Errorf("node %s in %s: region and zone %q, want %q", f[0], n.Datacenter, got, want)
		}
	}
}
