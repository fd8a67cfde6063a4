package sandbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// existingOf is a sandbox beside an existing cluster, whose VMs are those of a scenario.
func existingOf(t *testing.T, scenario string) *Sandbox {
	t.Helper()
	return withVCenters(t, scenario, func(o *Options) { o.Cluster.Existing = &existing.Options{} })
}

func nodeWith(name, providerID, systemUUID string, labels ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = providerID, systemUUID
	for _, l := range labels {
		n.Labels[l] = ""
	}
	return n
}

// otherOrder is a UUID as a guest of old virtual hardware reads it.
func otherOrder(id string) string {
	u, _ := match.ParseUUID(id)
	return u.Swapped().String()
}

func vmNamed(t *testing.T, s *Sandbox, name string) world.VM {
	t.Helper()
	vms := s.world.VMs()
	i := slices.IndexFunc(vms, func(v world.VM) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("no VM %s", name)
	}
	return vms[i]
}

// The cluster decides which VMs are nodes, and their names; a VM is found by its UUID, in either byte order.
func TestExistingNodes(t *testing.T) {
	s := existingOf(t, "single")
	one, two := vmNamed(t, s, "worker-1"), vmNamed(t, s, "worker-2")
	if one.Role != "" {
		t.Errorf("before there is a Node its VM has the role %q", one.Role)
	}
	s.clusterWatch.NodeChanged(nil, nodeWith("front.example.net", "", otherOrder(one.UUID), world.ControlPlaneLabel), false)
	s.clusterWatch.NodeChanged(nil, nodeWith("back", "vsphere://"+two.UUID, "42000000-0000-4000-8000-000000000001"), false) // the providerID counts
	s.clusterWatch.NodeChanged(nil, nodeWith("elsewhere", "aws:///eu/i-1", "42000000-0000-4000-8000-000000000002"), false)
	for vm, want := range map[string]string{"worker-1": "control-plane", "worker-2": "worker"} {
		if v := vmNamed(t, s, vm); v.Role != want || v.Process != "" {
			t.Errorf("%s: role %q, process %q", vm, v.Role, v.Process)
		}
	}
	if b := s.nodes.VMOf("front.example.net"); b.VM != "worker-1" || b.Role != "control-plane" {
		t.Errorf("behind front.example.net: %+v", b)
	}
	named := map[string]string{}
	for _, i := range items(t, s, fault.VM) {
		named[i.Name] = i.Node
	}
	if diff := cmp.Diff(map[string]string{"worker-1": "front.example.net", "worker-2": "back"}, named); diff != "" {
		t.Errorf("nodes of VMs (-want +got):\n%s", diff)
	}
	var rows []string
	for _, n := range s.Nodes() {
		rows = append(rows, n.Name+" "+n.VM)
	}
	if want := []string{"front.example.net worker-1", "back worker-2", "elsewhere "}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	// A Node that is created again under another name takes over when the first is gone.
	s.clusterWatch.NodeChanged(nil, nodeWith("front-2", "", one.UUID), false)
	s.clusterWatch.NodeChanged(nil, nodeWith("front.example.net", "", otherOrder(one.UUID)), true)
	if v := vmNamed(t, s, "worker-1"); v.Role != "worker" || s.nodes.Name(v) != "front-2" || s.nodes.VMOf("front-2").VM != "worker-1" {
		t.Errorf("a Node that was created again: role %q, called %s", v.Role, s.nodes.Name(v))
	}
	s.clusterWatch.NodeChanged(nil, nodeWith("back", "vsphere://"+two.UUID, ""), true)
	if v := vmNamed(t, s, "worker-2"); v.Role != "" || s.nodes.VMOf("back").VM != "worker-2" {
		t.Errorf("a Node that is gone: role %q, behind %+v", v.Role, s.nodes.VMOf("back"))
	}
}

// Objects of a cloud controller manager there carry its name, and its only rights in namespaces of the cluster are for
// Events of Nodes, which all controllers write to "default".
func TestExistingRights(t *testing.T) {
	s := newSandbox(t, "single")
	s.opts.Cluster.Existing = &existing.Options{}
	s.standOn(s.newGround())
	all := (host{s}).CCMObjects()
	for _, o := range all {
		m := o.(metav1.Object)
		if m.GetNamespace() == "kube-system" {
			t.Errorf("%T %s is in kube-system", o, m.GetName())
		}
		if m.GetNamespace() != "vsphere-sandbox-test" && !strings.HasPrefix(m.GetName(), "vsphere-sandbox-test") {
			t.Errorf("%T %s does not carry the sandbox's name", o, m.GetName())
		}
	}
	if p := s.ccm.(*ccm.Processes).Place; p.Namespace != "vsphere-sandbox-test" || p.Roles != p.Namespace || p.Labels["app.kubernetes.io/instance"] != "test" {
		t.Errorf("%+v", p)
	}
	if len(all) < 8 {
		t.Errorf("%d objects", len(all))
	}
}

// What would break something of others is refused, by name, before anything is done.
func TestExistingFaults(t *testing.T) {
	s := newSandbox(t, "single")
	s.source, s.opts.Cluster.Existing = real.New(&real.Options{}), &existing.Options{}
	s.standOn(s.newGround())
	lacking := func() (all []string) {
		for _, k := range catalogue.Kinds() {
			if s.faults.Lacks(k) != "" {
				all = append(all, k.Name)
			}
		}
		return all
	}
	with := lacking()
	s.opts.CCM = ccm.NoCCM()
	s.standOn(s.newGround())
	without := lacking()
	for name, in := range map[string][2]bool{ // with a cloud controller manager of the sandbox's, without
		"node.tainted": {true, true}, "node.object-deleted": {true, true}, "node.kubelet-killed": {true, true}, "vm.hang": {true, true},
		"control-plane.restart": {true, true}, "etcd.slow": {true, true}, "storageclass.unknown-policy": {true, true}, "node.csinode-deleted": {true, true},
		"ccm.killed": {false, true}, "ccm.paused": {false, true}, "secret.deleted": {false, true}, "config.malformed": {false, true}, "rbac.binding-removed": {false, true},
		"vcenter.latency": {false, false}, "vm.powered-off": {false, false},
	} {
		if got := [2]bool{slices.Contains(with, name), slices.Contains(without, name)}; got != in {
			t.Errorf("%s: refused %v, want %v", name, got, in)
		}
	}
}

// It only watches: no step makes anything, and none is swapped in.
func TestExistingWatched(t *testing.T) {
	s := newSandbox(t, "single")
	s.source, s.opts.Cluster.Existing, s.opts.CCM = real.New(&real.Options{}), &existing.Options{}, ccm.NoCCM()
	s.standOn(s.newGround())
	for _, st := range s.steps() {
		if st.Name == "API server" {
			if err := st.Start(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if st.Name == "cluster" {
			if err := st.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	s.boot.SetPhase(api.Ready)
	_, err := s.ccm.Swap(t.Context(), api.CCMRequest{})
	requireCode(t, "swap", err, "unsupported")
	want := api.Ground{Cluster: api.ClusterExisting, Nodes: api.NodesReal, Inventory: api.InventoryReal}
	if diff := cmp.Diff(want, s.standsOn()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := s.ground.Guest(nil).Crash(t.Context()); err == nil {
		t.Error("a kubelet of others is killed")
	}
}
