package world_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/matchtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// roles gives VMs whose name begins with a role that role.
type roles struct{}

func (roles) Role(v world.VM) string {
	for _, role := range []string{"control-plane", "worker"} {
		if strings.HasPrefix(v.Name, role) {
			return role
		}
	}
	return ""
}

func (roles) Process(v world.VM) node.Process {
	if v.Power == "on" {
		return node.Running
	}
	return node.Stopped
}

// uuid returns the UUID number n, in capitals, as some vCenters have them.
func uuid(n string) string { return "42000000-0000-4000-8000-0000000000A" + n }

// swapped is that in the other byte order.
func swapped(n string) string { return "00000042-0000-0040-8000-0000000000a" + n }

// vms returns an inventory with VMs right below a datacenter: name, number of the UUID ("" for none), power.
func vms(vc string, rows ...[3]string) *world.Inventory {
	var b batch
	b.add(vcenter.Enter, root, props{"name": "Datacenters"})
	b.add(vcenter.Enter, dc, props{"name": "dc", "parent": root})
	for _, r := range rows {
		p := props{"name": r[0], "parent": dc, "runtime.powerState": power(r[2])}
		if r[1] != "" {
			p["config.uuid"] = uuid(r[1])
		}
		if r[2] == "on" {
			p["guest.hostName"] = strings.ToUpper(r[0]) + ".example"
		}
		b.add(vcenter.Enter, mo("VirtualMachine", r[0]), p)
	}
	i := world.NewInventory(vc, nil)
	i.Update(b)
	return i
}

func k8s(name string, edit func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if edit != nil {
		edit(n)
	}
	return n
}

func providerID(id string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.ProviderID = id }
}

func systemUUID(id string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = id }
}

func both(id, uuid string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = id, uuid }
}

// A Node is joined with the VM that the provider binds it to.
func TestNodesTable(t *testing.T) {
	rows, err := matchtest.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		inventories := map[string]*world.Inventory{"us": world.NewInventory("us", nil), "eu": world.NewInventory("eu", nil)}
		if row.Out != "" || slices.ContainsFunc(row.VMs, func(v matchtest.VM) bool { return v.Template }) {
			continue // rows show what is known, and the watch does not report templates
		}
		for _, v := range row.VMs {
			var b batch
			nics := types.ArrayOfGuestNicInfo{GuestNicInfo: []types.GuestNicInfo{{IpAddress: v.Addresses}}}
			b.add(vcenter.Enter, mo("VirtualMachine", v.Name), props{
				"name": v.Name, "config.uuid": v.UUID, "guest.hostName": v.HostName, "guest.net": nics,
				"runtime.connectionState": types.VirtualMachineConnectionState(v.Connection),
			})
			inventories[v.VCenter].Update(b)
		}
		w := world.New(roles{}, inventories["us"], inventories["eu"])
		w.SetNode(row.Node.Kube())
		if nodes := w.Nodes(); len(nodes) != 1 || nodes[0].VM != row.VM {
			t.Errorf("%s: %+v, want VM %q", row.Name, nodes, row.VM)
		}
	}
}

func TestNodesJoinVMs(t *testing.T) {
	for _, tc := range []struct {
		name  string
		vms   [][3]string
		nodes []*corev1.Node
		want  [][2]string // name of the node's row, its VM; a "?" before the name: not registered
	}{
		{name: "nothing"},
		{
			name: "VMs that are no node yet",
			vms:  [][3]string{{"worker-2", "2", "on"}, {"control-plane-1", "1", "off"}, {"database", "3", "on"}},
			want: [][2]string{{"?control-plane-1", "control-plane-1"}, {"?worker-2.example", "worker-2"}},
		},
		{
			name:  "by providerID",
			vms:   [][3]string{{"worker-1", "1", "on"}},
			nodes: []*corev1.Node{k8s("n", providerID("vsphere://"+strings.ToLower(uuid("1"))))},
			want:  [][2]string{{"n", "worker-1"}},
		},
		{
			name:  "by the firmware's UUID",
			vms:   [][3]string{{"worker-1", "1", "on"}},
			nodes: []*corev1.Node{k8s("n", systemUUID(strings.ToLower(uuid("1"))))},
			want:  [][2]string{{"n", "worker-1"}},
		},
		{
			name:  "by the firmware's UUID, which the guest reads in the other byte order",
			vms:   [][3]string{{"worker-1", "1", "on"}},
			nodes: []*corev1.Node{k8s("n", systemUUID(swapped("1")))},
			want:  [][2]string{{"n", "worker-1"}},
		},
		{
			name:  "what is read as it is counts more",
			vms:   [][3]string{{"worker-1", "1", "on"}},
			nodes: []*corev1.Node{k8s("a", systemUUID(uuid("1"))), k8s("b", systemUUID(swapped("1"))), k8s("c", providerID("vsphere://"+swapped("1")))},
			want:  [][2]string{{"a", "worker-1"}, {"b", ""}, {"c", ""}},
		},
		{
			name:  "a VM without a role that is a node all the same",
			vms:   [][3]string{{"database", "1", "on"}},
			nodes: []*corev1.Node{k8s("n", systemUUID(uuid("1")))},
			want:  [][2]string{{"n", "database"}},
		},
		{
			name: "strangers come last, by name",
			vms:  [][3]string{{"worker-1", "1", "on"}},
			nodes: []*corev1.Node{
				k8s("z", systemUUID(uuid("9"))), k8s("y", providerID("kind://docker/x")), k8s("x", providerID("nonsense")), k8s("w", nil),
				k8s("zz", systemUUID(uuid("1"))),
			},
			want: [][2]string{{"zz", "worker-1"}, {"w", ""}, {"x", ""}, {"y", ""}, {"z", ""}},
		},
		{
			name:  "no UUID is nobody's",
			vms:   [][3]string{{"worker-1", "", "on"}},
			nodes: []*corev1.Node{k8s("n", nil), k8s("m", providerID("vsphere://"))},
			want:  [][2]string{{"?worker-1.example", "worker-1"}, {"m", ""}, {"n", ""}},
		},
		{
			name:  "of two VMs of one UUID, the one whose guest has the name",
			vms:   [][3]string{{"worker-1", "1", "on"}, {"worker-2", "1", "on"}},
			nodes: []*corev1.Node{k8s("worker-2.example", systemUUID(uuid("1")))},
			want:  [][2]string{{"?worker-1.example", "worker-1"}, {"worker-2.example", "worker-2"}},
		},
		{
			name:  "a VM that has lost its UUID is no second node of its name",
			vms:   [][3]string{{"worker-1", "", "on"}},
			nodes: []*corev1.Node{k8s("worker-1.example", providerID("vsphere://"+uuid("1")))},
			want:  [][2]string{{"worker-1.example", ""}},
		},
		{
			name:  "a providerID counts alone",
			vms:   [][3]string{{"worker-1", "1", "on"}, {"worker-2", "2", "on"}},
			nodes: []*corev1.Node{k8s("n", both("vsphere://"+uuid("9"), uuid("1"))), k8s("m", both("kind://docker/m", uuid("2")))},
			want:  [][2]string{{"?worker-1.example", "worker-1"}, {"?worker-2.example", "worker-2"}, {"m", ""}, {"n", ""}},
		},
		{
			name:  "by the hostname of the guest",
			vms:   [][3]string{{"worker-1", "1", "on"}},
			nodes: []*corev1.Node{k8s("worker-1", nil)},
			want:  [][2]string{{"worker-1", "worker-1"}},
		},
		{
			name: "the providerID counts more",
			vms:  [][3]string{{"worker-1", "1", "on"}},
			nodes: []*corev1.Node{
				k8s("a", providerID("vsphere://"+uuid("1"))), k8s("b", systemUUID(uuid("1"))), k8s("c", systemUUID(uuid("1"))),
			},
			want: [][2]string{{"a", "worker-1"}, {"b", ""}, {"c", ""}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 5 { // maps are involved
				w := world.New(roles{}, vms("vc", tc.vms...))
				for _, n := range tc.nodes {
					w.SetNode(n)
				}
				var got [][2]string
				for _, n := range w.Nodes() {
					name := n.Name
					if !n.Registered {
						name = "?" + name
					}
					got = append(got, [2]string{name, n.VM})
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestNodeRow(t *testing.T) {
	w := world.New(roles{}, vms("vc", [3]string{"worker-1", "1", "on"}))
	created := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	w.SetNode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "worker-1.example", CreationTimestamp: metav1.NewTime(created),
			Labels: map[string]string{
				corev1.LabelTopologyRegion: "us", corev1.LabelTopologyZone: "us-1", corev1.LabelInstanceTypeStable: "big",
				"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/db": "", "other": "label",
			},
		},
		Spec: corev1.NodeSpec{
			Unschedulable: true,
			ProviderID:    "vsphere://" + strings.ToLower(uuid("1")),
			Taints: []corev1.Taint{
				{Key: "z", Effect: corev1.TaintEffectNoExecute}, {Key: "a", Value: "b", Effect: corev1.TaintEffectNoSchedule},
			},
		},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeHostName, Address: "worker-1"},
				{Type: corev1.NodeExternalIP, Address: "10.0.0.1"},
				{Type: corev1.NodeInternalIP, Address: "10.0.0.1"},
				{Type: corev1.NodeInternalIP, Address: "fd00::1"},
			},
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue}, {Type: corev1.NodeReady, Status: corev1.ConditionUnknown},
			},
			NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.36.4"},
		},
	})
	want := []api.Node{{
		Name: "worker-1.example", VM: "worker-1", VCenter: "vc", Datacenter: "dc", Power: "on", Registered: true, Ready: "Unknown", Initialized: true,
		Taints: []string{"a=b:NoSchedule", "z:NoExecute"}, Region: "us", Zone: "us-1", ProviderID: "vsphere://" + strings.ToLower(uuid("1")),
		InstanceType: "big", Addresses: []string{"10.0.0.1", "fd00::1"}, Roles: []string{"db", "worker"}, Version: "v1.36.4", Created: created,
		Labels: map[string]string{
			corev1.LabelTopologyRegion: "us", corev1.LabelTopologyZone: "us-1", corev1.LabelInstanceTypeStable: "big",
			"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/db": "", "other": "label",
		},
		Unschedulable: true,
	}}
	if diff := cmp.Diff(want, w.Nodes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	w.SetNode(k8s("worker-1.example", func(n *corev1.Node) {
		systemUUID(uuid("1"))(n)
		n.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}}
	}))
	if n := w.Nodes()[0]; n.Initialized || n.Ready != "" {
		t.Errorf("a new node is %+v", n)
	}
	w.DeleteNode("worker-1.example")
	w.DeleteNode("nobody")
	if n := w.Nodes()[0]; n.Registered || n.Name != "worker-1.example" || n.VM != "worker-1" {
		t.Errorf("after the node was deleted: %+v", n)
	}
}

// The listings of several vCenters, whose morefs and names repeat.
func TestSeveralVCenters(t *testing.T) {
	us := vms("us", [3]string{"worker-1", "1", "on"}, [3]string{"worker-2", "2", "off"}, [3]string{"tools", "3", "on"})
	eu := vms("eu", [3]string{"worker-1", "4", "on"}, [3]string{"control-plane-1", "5", "on"})
	us.SetTags(world.Tags{Region: map[ref]string{dc: "us"}, Zone: map[ref]string{dc: "us-1"}})
	eu.SetTags(world.Tags{Region: map[ref]string{dc: "eu"}, Zone: map[ref]string{dc: "eu-1"}})
	w := world.New(roles{}, us, eu)
	in := func(region, zone string, ready corev1.ConditionStatus, edits ...func(*corev1.Node)) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Labels = map[string]string{corev1.LabelTopologyRegion: region, corev1.LabelTopologyZone: zone}
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
			for _, edit := range edits {
				edit(n)
			}
		}
	}
	uninitialized := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized"}}
	}
	w.SetNode(k8s("a", in("us", "us-1", corev1.ConditionTrue, systemUUID(uuid("1")))))
	w.SetNode(k8s("b", in("eu", "eu-1", corev1.ConditionUnknown, systemUUID(uuid("4")))))
	w.SetNode(k8s("c", in("", "", corev1.ConditionTrue, systemUUID(uuid("5")), uninitialized)))
	w.SetNode(k8s("stranger", in("eu", "eu-0", corev1.ConditionTrue)))

	type row struct{ VCenter, VM, Role, Process string }
	var got []row
	for _, v := range w.VMs() {
		got = append(got, row{v.VCenter, v.Name, v.Role, v.Process})
	}
	wantVMs := []row{
		{"us", "tools", "", ""},
		{"us", "worker-1", "worker", "running"},
		{"us", "worker-2", "worker", "stopped"},
		{"eu", "control-plane-1", "control-plane", "running"},
		{"eu", "worker-1", "worker", "running"},
	}
	if diff := cmp.Diff(wantVMs, got); diff != "" {
		t.Errorf("VMs (-want +got):\n%s", diff)
	}

	wantDCs := []api.Datacenter{
		{Name: "dc", VCenter: "us", Path: "/dc", Region: "us", Zone: "us-1", VMs: 3, Nodes: 1},
		{Name: "dc", VCenter: "eu", Path: "/dc", Region: "eu", Zone: "eu-1", VMs: 2, Nodes: 2},
	}
	if diff := cmp.Diff(wantDCs, w.Datacenters()); diff != "" {
		t.Errorf("datacenters (-want +got):\n%s", diff)
	}

	wantZones := []api.Zone{
		{Region: "eu", Zone: "eu-0", Datacenters: []string{}, Nodes: 1, ReadyNodes: 1},
		{Region: "eu", Zone: "eu-1", Datacenters: []string{"eu/dc"}, VMs: 2, Nodes: 1},
		{Region: "us", Zone: "us-1", Datacenters: []string{"us/dc"}, VMs: 3, Nodes: 1, ReadyNodes: 1},
	}
	if diff := cmp.Diff(wantZones, w.Zones()); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(api.NodeCount{Wanted: 4, Registered: 4, Initialized: 3, Ready: 3}, w.Count()); diff != "" {
		t.Errorf("count (-want +got):\n%s", diff)
	}
	if hosts := w.Hosts(); hosts == nil || len(hosts) > 0 {
		t.Errorf("hosts %+v", hosts)
	}
}

func TestHostsOfSeveralVCenters(t *testing.T) {
	i := world.NewInventory("other", nil)
	i.Update(small())
	var got []string
	for _, h := range world.New(roles{}, inventory(small()), i).Hosts() {
		got = append(got, h.VCenter+"/"+h.Name)
	}
	if diff := cmp.Diff([]string{"vc/esx-1", "vc/esx-2", "other/esx-1", "other/esx-2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEmptyWorld(t *testing.T) {
	w := world.New(roles{})
	if z := w.Zones(); z == nil || len(z) > 0 {
		t.Errorf("zones %v, want an empty list, for JSON", z)
	}
	if c := w.Count(); c != (api.NodeCount{}) {
		t.Errorf("count %+v", c)
	}
}

func power(state string) types.VirtualMachinePowerState {
	if state == "on" {
		return types.VirtualMachinePowerStatePoweredOn
	}
	return types.VirtualMachinePowerStatePoweredOff
}
