package upstream

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

const nsxTopology = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: nsx}
spec:
  nsx: {pools: [{name: services, ranges: [127.1.200.101-127.1.200.120]}, {name: public, ranges: [203.0.113.10-203.0.113.20]}]}
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          hosts: [{name: esx}]
          vms: [{name: worker, role: worker}]
`

// TestNSX: the release makes a load balancer in NSX for a Service, the address answers, an outage of NSX delays the next Service,
// and nothing is left of deleted ones.
func TestNSX(t *testing.T) {
	h, cpi := newHome(t, cloudProvider)
	h.Must("--name", "nsx", "up", h.File("nsx.yaml", nsxTopology), "-d", "--csi", "off", "--ccm", cpi, "--loadbalancer", "nsx")
	s := h.Attach("nsx")
	begin := time.Now()
	expose(s, "web", "80")
	address := awaitAddress(s, "web")
	t.Logf("the Service has %s after %s", address, time.Since(begin).Round(time.Millisecond))
	if !strings.HasPrefix(address, "127.1.") {
		t.Errorf("the address is %s", address)
	}
	if got, want := typesOf(t, s, "default/web"), "[IpAddressAllocation LBPool LBTcpMonitorProfile LBVirtualServer]"; got != want {
		t.Errorf("NSX has %s, want %s", got, want)
	}
	s.Await("the address answers", time.Minute, func() bool {
		resp, err := http.Get("http://" + address + ":8080/")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return err == nil && resp.StatusCode == http.StatusOK && strings.Contains(string(body), "default/web")
	})

	t.Logf("\n%s\n%s", s.Run("kubectl", "get", "service", "web"), s.Run("get", "nsx"))

	s.Run("vcenter", "down", "nsx")
	expose(s, "late", "81")
	s.Await("the Service has an Event about NSX", time.Minute, func() bool {
		return slices.ContainsFunc(program.Kubectl[corev1.EventList](s, "get", "events").Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Name == "late" && e.Reason == "SyncLoadBalancerFailed"
		})
	})
	s.Run("vcenter", "up", "nsx")
	if got := awaitAddress(s, "late"); got == address {
		t.Errorf("both Services have %s", got)
	}
	s.Run("kubectl", "delete", "service", "web", "late")
	if list := nsxObjects(t, s); slices.ContainsFunc(list, func(o api.NSXObject) bool { return o.User != "admin" }) {
		t.Errorf("NSX still has %v", list)
	}
}

func expose(s *program.Sandbox, name, port string) {
	s.Run("kubectl", "create", "deployment", name, "--image=nginx")
	s.Run("kubectl", "expose", "deployment", name, "--port=8080", "--target-port="+port, "--type=LoadBalancer")
}

func awaitAddress(s *program.Sandbox, service string) (address string) {
	s.Await(service+" has an address", 2*time.Minute, func() bool {
		ingress := program.Kubectl[corev1.Service](s, "get", "service", service).Status.LoadBalancer.Ingress
		if len(ingress) == 0 {
			return false
		}
		address = ingress[0].IP
		return true
	})
	return address
}

func nsxObjects(t *testing.T, s *program.Sandbox) []api.NSXObject {
	t.Helper()
	list, err := s.Client.NSX(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// typesOf returns the types of the objects of a Service.
func typesOf(t *testing.T, s *program.Sandbox, service string) string {
	t.Helper()
	var all []string
	for _, o := range nsxObjects(t, s) {
		if o.Service == service {
			all = append(all, o.Type)
		}
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}
