package explain

import (
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// now is the time of every test.
var now = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

const (
	uuid1        = "01020304-0506-0708-8090-a0b0c0d0e0f0"
	uuid1Swapped = "04030201-0605-0807-8090-a0b0c0d0e0f0"
	uuid2        = "11121314-1516-1718-8090-a0b0c0d0e0f0"
)

var errOut = errors.New("connection refused")

// object is something above a VM, with tags as CATEGORY, NAME pairs.
func object(kind, name string, tags ...string) Object {
	o := Object{Type: kind, Name: name}
	for i := 0; i+1 < len(tags); i += 2 {
		o.Tags = append(o.Tags, Tag{tags[i], tags[i+1]})
	}
	return o
}

// machine is a worker that runs in us/us-west.
func machine() VMState {
	dc := object("Datacenter", "dcwest", "k8s-region", "us", "k8s-zone", "us-west")
	return VMState{
		VCenter: "us", Ref: "vm-31", Name: "w1", Path: "/dcwest/vm/w1", Datacenter: "/dcwest", UUID: uuid1, Power: "on", Connection: "connected",
		Tools: true, Hostname: "w1", Addresses: []string{"192.0.2.1"}, CPUs: 2, MemoryMB: 4096, GuestID: "ubuntu64Guest",
		Host: "esx-1", HostConnection: "connected", HostPower: "poweredOn",
		FromHost: []Object{object("HostSystem", "esx-1"), object("ClusterComputeResource", "west"), dc},
		FromPool: []Object{object("ResourcePool", "Resources"), object("ClusterComputeResource", "west"), dc},
		FromVM:   []Object{object("VirtualMachine", "w1"), object("Folder", "vm"), dc},
		Role:     "worker", Process: "running",
	}
}

// node is the case of a node in good health, with changes.
func node(changes ...func(*Node)) Node {
	c := Node{
		Name: "w1", Bound: "us/w1", VMs: []VMState{machine()},
		Kubelet: &api.Component{Name: "node/w1", State: "running"},
		Around: Around{
			Now: now, Grace: 5 * time.Second,
			VCenters: []VCenter{
				{VCenter: api.VCenter{Name: "us", Gate: "up"}, Server: "127.0.0.11", Categories: Answer[[]string]{Is: []string{"k8s-region", "k8s-zone"}}},
				{VCenter: api.VCenter{Name: "eu", Gate: "up"}, Server: "127.0.0.12", Categories: Answer[[]string]{Is: []string{"k8s-region", "k8s-zone"}}},
			},
			CCM: []api.Component{{Name: "ccm", State: "running", Health: "healthy"}},
			Config: Answer[*config.Config]{Is: &config.Config{
				VCenters: []config.VCenter{{Tenant: "us", Server: "127.0.0.11", Datacenters: []string{"/dcwest"}}, {Tenant: "eu", Server: "127.0.0.12"}},
				Labels:   config.Labels{Region: "k8s-region", Zone: "k8s-zone"},
			}},
		},
	}
	c.Node.Is = &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "w1", Labels: map[string]string{corev1.LabelTopologyRegion: "us", corev1.LabelTopologyZone: "us-west"}},
		Spec:       corev1.NodeSpec{ProviderID: "vsphere://" + uuid1},
		Status: corev1.NodeStatus{
			NodeInfo:  corev1.NodeSystemInfo{SystemUUID: uuid1},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute)), Message: "kubelet is posting ready status",
			}},
		},
	}
	renewed := metav1.NewMicroTime(now.Add(-time.Second))
	c.Heartbeat.Is = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}}
	for _, change := range changes {
		change(&c)
	}
	return c
}

// The changes.
func powerIs(power string) func(*Node) {
	return func(c *Node) {
		c.VMs[0].Power = power
		if power != "on" {
			c.VMs[0].Tools, c.VMs[0].Hostname, c.VMs[0].Addresses = false, "", nil
		}
	}
}

func kubeletIs(state string) func(*Node) { return func(c *Node) { c.Kubelet.State = state } }

// others makes it a node of another tool's cluster.
func others(c *Node) { c.SharedCluster, c.Kubelet = true, nil }

func silent(c *Node) {
	renewed := metav1.NewMicroTime(now.Add(-20 * time.Second))
	c.Heartbeat.Is.Spec.RenewTime = &renewed
}

func unknownSince(c *Node) {
	silent(c)
	c.Node.Is.Status.Conditions[0].Status = corev1.ConditionUnknown
	c.Node.Is.Status.Conditions[0].Message = "Kubelet stopped posting node status."
}

func taintedWith(keys ...string) func(*Node) {
	return func(c *Node) {
		for _, key := range keys {
			c.Node.Is.Spec.Taints = append(c.Node.Is.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
		}
	}
}

// fresh is a node that has just registered.
func fresh(c *Node) {
	taintedWith("node.cloudprovider.kubernetes.io/uninitialized")(c)
	c.Node.Is.Spec.ProviderID, c.Node.Is.Labels, c.Node.Is.Status.Addresses = "", nil, nil
}

func gone(c *Node) { c.VMs = nil }

func noNode(c *Node) { c.Node.Is, c.ProviderID = nil, "vsphere://"+uuid1 }

func happened(list ...event.Event) func(*Node) {
	return func(c *Node) { c.Events = timeline(list...) }
}

// timeline numbers events, a second apart.
func timeline(list ...event.Event) []event.Event {
	for i := range list {
		list[i].Seq, list[i].Time = uint64(i+1), now.Add(time.Duration(i-len(list))*time.Second)
	}
	return list
}

func aboutNode(kind, message string, cause uint64) event.Event {
	return event.Event{Kind: kind, Object: event.Object{Kind: "Node", Name: "w1"}, Message: message, Cause: cause}
}

func aboutVM(kind, message string, cause uint64) event.Event {
	return event.Event{Kind: kind, Object: event.Object{Kind: "VM", VCenter: "us", Name: "w1"}, Message: message, Cause: cause}
}

func machineIs(change func(*VMState)) func(*Node) { return func(c *Node) { change(&c.VMs[0]) } }
