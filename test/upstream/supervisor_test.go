package upstream

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

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
	cpi := os.Getenv("UPSTREAM_CPI")
	if cpi == "" {
		t.Skip("no release of the upstream cloud provider: UPSTREAM_CPI names its binary (make upstream builds and sets it)")
	}
	binary, err := program.Find()
	if err != nil {
		t.Fatal(err)
	}
	h := program.NewHome(t, program.Options{Binary: binary, Patience: 5 * time.Minute})
	t.Cleanup(func() { h.End(h.State, h.Tmp) })
	begin := time.Now()
	h.Must("--name", "guest", "up", "supervisor", "-d", "--csi", "off", "--ccm", cpi)
	s := h.Attach("guest")
	t.Logf("up after %s", time.Since(begin).Round(time.Millisecond))
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
