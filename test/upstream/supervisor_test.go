package upstream

import (
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// virtualMachine is what the test reads of a VirtualMachine.
type virtualMachine struct {
	Status struct {
		BiosUUID, PowerState, Zone string
		Network                    struct{ PrimaryIP4 string }
	}
}

// TestSupervisor: the unmodified release runs in its vsphere-paravirtual mode. It initializes the nodes from VirtualMachines, gives a
// Service the address of a VirtualMachineService, follows a power-off and a new VirtualMachine, and deletes the Node of a
// VirtualMachine that was deleted.
func TestSupervisor(t *testing.T) {
	h, s := guestOfSupervisor(t)
	const worker = "worker-b-1"
	vm := supervised[virtualMachine](s, "get", "virtualmachine", worker)
	n := program.Kubectl[corev1.Node](s, "get", "node", worker)
	if want := "vsphere://" + vm.Status.BiosUUID; n.Spec.ProviderID != want || vm.Status.BiosUUID == "" {
		t.Errorf("providerID %q, want %q", n.Spec.ProviderID, want)
	}
	if n.Labels[corev1.LabelTopologyZone] != "zone-b" || vm.Status.Zone != "zone-b" {
		t.Errorf("zone %q, of the VirtualMachine %q", n.Labels[corev1.LabelTopologyZone], vm.Status.Zone)
	}
	if got := internalIP(n); got == "" || got != vm.Status.Network.PrimaryIP4 {
		t.Errorf("address %q, of the VirtualMachine %q", got, vm.Status.Network.PrimaryIP4)
	}

	expose(s, "web", "80")
	address := awaitAddress(s, "web")
	if !strings.HasPrefix(address, "127.1.") {
		t.Errorf("the address is %s", address)
	}
	s.Await("the address answers", time.Minute, func() bool {
		resp, err := http.Get("http://" + address + ":8080/")
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	})
	service := supervised[struct {
		Items []struct {
			Status corev1.ServiceStatus
		}
	}](s, "get", "virtualmachineservice")
	if len(service.Items) != 1 || service.Items[0].Status.LoadBalancer.Ingress[0].IP != address {
		t.Errorf("VirtualMachineServices: %+v, want one with %s", service.Items, address)
	}
	endpoints := s.Run("kubectl", "--context", "supervisor", "get", "endpoints")
	if !strings.Contains(endpoints, vm.Status.Network.PrimaryIP4+":") {
		t.Errorf("no endpoint is the worker:\n%s", endpoints)
	}

	s.Run("kubectl", "--context", "supervisor", "patch", "virtualmachine", worker, "--type=merge", "-p", `{"spec":{"powerState":"PoweredOff"}}`)
	s.Await("the Node is known to be shut down", 2*time.Minute, func() bool {
		return strings.Contains(strings.Join(s.Node(worker).Taints, " "), "node.cloudprovider.kubernetes.io/shutdown")
	})
	if got := supervised[virtualMachine](s, "get", "virtualmachine", worker).Status.PowerState; got != "PoweredOff" {
		t.Errorf("the VirtualMachine is %s", got)
	}

	file := h.File("vm.yaml", newMachine)
	s.Run("kubectl", "--context", "supervisor", "create", "-f", file)
	s.Await("the new VirtualMachine is an initialized Node", 2*time.Minute, func() bool { return s.Node("worker-new").Initialized })
	if got := s.Node("worker-new").Zone; got != "zone-c" {
		t.Errorf("the new Node is in zone %q", got)
	}
	s.Run("kubectl", "--context", "supervisor", "delete", "virtualmachine", "worker-new")
	s.Await("its Node is deleted", 2*time.Minute, func() bool { return !s.Node("worker-new").Registered })

	if dir := filepath.Join(s.Status().Dir, "supervisor", "guest", "guest", "ccm-provider"); !strings.HasPrefix(readlink(t, dir, "token"), "..data") {
		t.Error("the token is no link through ..data")
	}
	s.Run("kubectl", "delete", "service", "web")
	s.Await("nothing is left of the Service", time.Minute, func() bool {
		return strings.TrimSpace(s.Run("kubectl", "--context", "supervisor", "get", "virtualmachineservices,services", "-o", "name")) == ""
	})
	t.Logf("\n%s\n%s", s.Run("kubectl", "--context", "supervisor", "get", "virtualmachines", "-o", "wide"), s.Run("get", "nodes"))
}

// guestOfSupervisor starts a guest cluster with upstream's release.
func guestOfSupervisor(t *testing.T, args ...string) (*program.Home, *program.Sandbox) {
	t.Helper()
	h, cpi := newHome(t, cloudProvider)
	begin := time.Now()
	h.Must(append([]string{"--name", "guest", "up", "supervisor", "-d", "--csi", "off", "--ccm", cpi}, args...)...)
	t.Logf("up after %s", time.Since(begin).Round(time.Millisecond))
	return h, h.Attach("guest")
}

// TestSupervisorVPC: the unmodified release runs in its VPC mode. Each Node has the network of pods that NSX allocated for it and a route
// to its address, pods have addresses of it, and a Node that goes takes both with it.
func TestSupervisorVPC(t *testing.T) {
	h, s := guestOfSupervisor(t, "--set", "network=vpc", "--ccm-arg=--pod-ip-pool-type=Public")
	routesAreNodes := func(count int) {
		t.Helper()
		s.Await("networks and routes are those of the Nodes", 2*time.Minute, func() bool {
			var want, routes, networks []string
			for _, n := range program.Kubectl[corev1.NodeList](s, "get", "nodes").Items {
				if i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeNetworkUnavailable }); i < 0 || n.Status.Conditions[i].Reason != "RouteCreated" {
					return false
				}
				want = append(want, n.Name+" "+n.Spec.PodCIDR+" "+internalIP(n))
			}
			for _, r := range supervised[items[staticRoute]](s, "get", "staticroutes").Items {
				if len(r.Spec.NextHops) == 1 && r.Status.ready() && r.Labels["clusterName"] == "guest" {
					routes = append(routes, r.Name+" "+r.Spec.Network+" "+r.Spec.NextHops[0].IPAddress)
				}
			}
			for _, a := range supervised[items[addressAllocation]](s, "get", "ipaddressallocations").Items {
				if i := slices.IndexFunc(want, func(w string) bool { return strings.HasPrefix(w, a.Name+" "+a.Status.AllocationIPs+" ") }); i >= 0 &&
					a.Status.ready() && a.Spec.IPAddressBlockVisibility == "External" {
					networks = append(networks, want[i])
				}
			}
			return len(want) == count && slices.Equal(want, routes) && slices.Equal(want, networks)
		})
	}
	routesAreNodes(4)
	ports := s.Run("kubectl", "--context", "supervisor", "get", "subnetports")
	for _, n := range program.Kubectl[corev1.NodeList](s, "get", "nodes").Items {
		if !strings.Contains(ports, internalIP(n)) {
			t.Errorf("node %s has no port:\n%s", n.Name, ports)
		}
	}
	s.Run("kubectl", "create", "deployment", "web", "--image=nginx", "--replicas=3")
	s.Run("kubectl", "rollout", "status", "deployment/web", "--timeout=60s")
	for _, pod := range program.Kubectl[corev1.PodList](s, "get", "pods").Items {
		network := netip.MustParsePrefix(program.Kubectl[corev1.Node](s, "get", "node", pod.Spec.NodeName).Spec.PodCIDR)
		if ip, err := netip.ParseAddr(pod.Status.PodIP); err != nil || !network.Contains(ip) {
			t.Errorf("pod %s of %s has the address %q, not one of %s", pod.Name, pod.Spec.NodeName, pod.Status.PodIP, network)
		}
	}
	t.Logf("\n%s\n%s", ports, s.Run("kubectl", "--context", "supervisor", "get", "ipaddressallocations,staticroutes"))

	s.Run("kubectl", "--context", "supervisor", "create", "-f", h.File("vm.yaml", newMachine))
	s.Await("the new VirtualMachine is an initialized Node", 2*time.Minute, func() bool { return s.Node("worker-new").Initialized })
	routesAreNodes(5)
	s.Run("kubectl", "--context", "supervisor", "delete", "virtualmachine", "worker-new")
	s.Await("its Node is deleted", 2*time.Minute, func() bool { return !s.Node("worker-new").Registered })
	routesAreNodes(4)
	if got := supervised[items[staticRoute]](s, "get", "staticroutes").Items; len(got) != 4 {
		t.Errorf("%d routes", len(got))
	}
	if got := supervised[items[addressAllocation]](s, "get", "ipaddressallocations").Items; len(got) != 4 {
		t.Errorf("%d networks", len(got))
	}
}

// items are the objects of a list, by name.
type items[T any] struct{ Items []T }

type staticRoute struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Network  string
		NextHops []struct{ IPAddress string }
	}
	Status conditioned
}

type addressAllocation struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct{ IPAddressBlockVisibility string }
	Status            struct {
		conditioned   `json:",inline"`
		AllocationIPs string
	}
}

// conditioned is a status with conditions.
type conditioned struct{ Conditions []metav1.Condition }

func (c conditioned) ready() bool { return meta.IsStatusConditionTrue(c.Conditions, "Ready") }

const newMachine = `apiVersion: vmoperator.vmware.com/v1alpha2
kind: VirtualMachine
metadata:
  name: worker-new
  labels: {capv.vmware.com/cluster.name: guest, capv.vmware.com/cluster.role: node, topology.kubernetes.io/zone: zone-c}
spec: {className: best-effort-medium, imageName: photon-5, storageClass: shared}
`

// supervised reads an object of the Supervisor.
func supervised[T any](s *program.Sandbox, args ...string) T {
	return program.Kubectl[T](s, append([]string{"--context", "supervisor"}, args...)...)
}

func internalIP(n corev1.Node) string {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}

func readlink(t *testing.T, dir, name string) string {
	t.Helper()
	to, err := os.Readlink(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return to
}
