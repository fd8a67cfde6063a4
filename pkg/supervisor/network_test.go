package supervisor

import (
	"net/netip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ready returns status, reason and message of an object's condition Ready.
func (r *running) ready(gvr schema.GroupVersionResource, name string) string {
	r.t.Helper()
	conditions, _, _ := unstructured.NestedSlice(r.object(gvr, name).Object, "status", "conditions")
	for _, c := range conditions {
		if m := c.(map[string]any); m["type"] == "Ready" {
			return strings.TrimSpace(strings.Join([]string{m["status"].(string), m["reason"].(string), m["message"].(string)}, " "))
		}
	}
	return ""
}

func (r *running) remove(gvr schema.GroupVersionResource, name string) {
	r.t.Helper()
	if err := r.objects.Resource(gvr).Namespace("ns").Delete(r.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// TestVPC: an IPAddressAllocation gets a network of its size that no other one has until it goes, and says if all are in use; a
// StaticRoute is ready.
func TestVPC(t *testing.T) {
	r := newRunning(t)
	network := func(name string) string { return text(r.object(allocations(), name), "status", "allocationIPs") }
	r.until("the controllers", func() bool { return r.loop(allocations()) != nil })
	r.make(allocations(), "IPAddressAllocation", "n", nil, map[string]any{"allocationSize": int64(256)})
	r.until("a network", func() bool {
		return network("n") == "172.26.0.0/24" && r.ready(allocations(), "n") == "True IPAddressAllocationReady"
	})
	r.make(allocations(), "IPAddressAllocation", "nn", nil, map[string]any{"allocationSize": int64(16)})
	r.until("another one", func() bool { return network("nn") == "172.26.1.0/28" })
	r.make(allocations(), "IPAddressAllocation", "all", nil, map[string]any{"allocationSize": int64(1 << 16)})
	r.until("none", func() bool {
		return r.ready(allocations(), "all") == "False IPAddressAllocationNotReady all of 172.26.0.0/16 is in use" && network("all") == ""
	})
	r.remove(allocations(), "n")
	r.until("a free network", func() bool {
		r.nets.mu.Lock()
		defer r.nets.mu.Unlock()
		return r.nets.owner[netip.MustParsePrefix("172.26.0.0/24")] == ""
	})
	r.make(allocations(), "IPAddressAllocation", "next", nil, map[string]any{"allocationSize": int64(256)})
	r.until("that network", func() bool { return network("next") == "172.26.0.0/24" })

	r.make(staticRoutes(), "StaticRoute", "n", nil, map[string]any{"network": "172.26.0.0/24", "nextHops": []any{map[string]any{"ipAddress": "10.0.0.5"}}})
	r.until("a route", func() bool { return r.ready(staticRoutes(), "n") == "True StaticRouteReady" })
}

// TestSubnetPort: the SubnetPort of a VirtualMachine is made, has its address, is made again, and goes with it. A port of something else
// stays as it is.
func TestSubnetPort(t *testing.T) {
	r := newRunning(t)
	address := func() string {
		list, _, _ := unstructured.NestedSlice(r.object(subnetPorts(), "worker-eth0").Object, "status", "networkInterfaceConfig", "ipAddresses")
		if len(list) != 1 {
			return ""
		}
		return list[0].(map[string]any)["ipAddress"].(string)
	}
	r.until("a port", func() bool {
		return address() == "10.0.0.5" && r.ready(subnetPorts(), "worker-eth0") == "True SubnetPortReady"
	})
	port := r.object(subnetPorts(), "worker-eth0")
	if got := port.GetAnnotations()["nsx.vmware.com/attachment_ref"]; got != "virtualmachine/worker/eth0" {
		t.Errorf("it is a port of %q", got)
	}
	if o := port.GetOwnerReferences(); len(o) != 1 || o[0].Kind != "VirtualMachine" || o[0].Name != "worker" {
		t.Errorf("owners %+v", o)
	}
	r.vc.set("worker", func(vm *VM) { vm.Addresses = addresses("10.0.0.6") })
	r.until("the other address", func() bool { return address() == "10.0.0.6" })
	if got := text(r.object(subnetPorts(), "worker-eth0"), "status", "networkInterfaceConfig", "macAddress"); got != "00:50:56:00:00:07" {
		t.Errorf("MAC address %q", got)
	}
	r.remove(subnetPorts(), "worker-eth0")
	r.until("a port again", func() bool { return address() == "10.0.0.6" })

	r.make(subnetPorts(), "SubnetPort", "pod-eth0", nil, map[string]any{})
	r.remove(machines(), "worker")
	r.until("none of a VirtualMachine that is gone", func() bool { return r.object(subnetPorts(), "worker-eth0").GetName() == "" })
	if got := r.ready(subnetPorts(), "pod-eth0"); got != "" || r.object(subnetPorts(), "pod-eth0").GetName() == "" {
		t.Errorf("the port of a pod: %q", got)
	}
}
