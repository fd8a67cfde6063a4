package e2e

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

const routed = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: routed}
spec:
  nsx: {routes: true}
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          hosts: [{name: esx}]
          vms: [{name: worker-1, role: worker}, {name: worker-2, role: worker}]
`

// Each node's pod CIDR is a route of the gateway, to the node's address; that of a node that is gone goes. Snapshots keep what NSX
// has: Services answer at the same addresses, and in a copy of the sandbox at that one's.
func TestRoutesNSX(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	port := ownPort() // with the same, the copy has another block of addresses
	s := h.up("routed", append(port, h.File("routed.yaml", routed), "--loadbalancer", "nsx")...)
	s.routesAreNodes(2)

	s.Run("kubectl", "create", "deployment", "web", "--image=nginx")
	// With its own port, the sandbox may share 127.1.x.0/24 with another test's, whose Services have other ports.
	s.Run("kubectl", "expose", "deployment", "web", "--port=8097", "--target-port=80", "--type=LoadBalancer")
	s.Run("kubectl", "expose", "deployment", "web", "--name=other", "--port=8097", "--target-port=80", "--type=LoadBalancer")
	web, other := s.address("web"), s.address("other")
	s.answers(web)
	was := s.nsxIdentities()
	s.Run("snapshot", "save", "before")

	s.Run("kubectl", "delete", "service", "web")
	s.Run("vm", "destroy", "--yes", "worker-2")
	s.routesAreNodes(1)
	if got := s.nsxIdentities(); slices.Equal(got, was) {
		t.Error("NSX has the objects of what was deleted")
	}
	s.Run("snapshot", "restore", "before")
	s.routesAreNodes(2)
	s.answers(web)
	if got := s.nsxIdentities(); !slices.Equal(got, was) {
		t.Errorf("after a restore NSX has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(was, "\n"))
	}

	s.Run("stop")
	h.Must("--name", "routed", "start")
	s = h.attach("routed")
	s.routesAreNodes(2)
	s.answers(web)
	s.answers(other)
	if got := s.nsxIdentities(); !slices.Equal(got, was) {
		t.Errorf("after a start NSX has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(was, "\n"))
	}
	if now := s.address("web"); now != web {
		t.Errorf("web has the address %s, and had %s", now, web)
	}
	copied := h.up("copy", append(port, "--from", "routed/before")...)
	copied.Await("the copy has its own address", time.Minute, func() bool {
		all := program.Kubectl[corev1.Service](copied.Sandbox, "get", "service", "web").Status.LoadBalancer.Ingress
		return len(all) > 0 && all[0].IP != web
	})
	copied.answers(copied.address("web"))
	s.answers(web)
	h.Must("--name", "copy", "down")
	s.Run("kubectl", "delete", "service", "web", "other")
	if left := slices.DeleteFunc(s.nsxObjects(), func(o api.NSXObject) bool { return o.User == "admin" || o.Type == "StaticRoutes" }); len(left) > 0 {
		t.Errorf("deleted Services leave %v", left)
	}
}

// routesAreNodes waits until the static routes are those of the Nodes, of which there are n, all realized.
func (s *sandbox) routesAreNodes(n int) {
	s.T.Helper()
	s.Await("routes are those of the nodes", time.Minute, func() bool {
		var want, got []string
		for _, node := range program.Kubectl[corev1.NodeList](s.Sandbox, "get", "nodes").Items {
			i := slices.IndexFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
			if i < 0 || node.Spec.PodCIDR == "" {
				return false
			}
			want = append(want, node.Spec.PodCIDR+" "+netip.MustParseAddr(node.Status.Addresses[i].Address).String())
		}
		for _, o := range s.nsxObjects() {
			if o.Type != "StaticRoutes" {
				continue
			}
			hops, _ := o.Object["next_hops"].([]any)
			if len(hops) != 1 || o.State != "REALIZED" {
				return false
			}
			hop, _ := hops[0].(map[string]any)
			network, _ := o.Object["network"].(string)
			address, _ := hop["ip_address"].(string)
			got = append(got, network+" "+address)
		}
		slices.Sort(want)
		slices.Sort(got)
		return len(want) == n && slices.Equal(want, got)
	})
}

// answers waits until a Service answers at an address.
func (s *sandbox) answers(address string) {
	s.T.Helper()
	s.Await(address+" answers", time.Minute, func() bool {
		resp, err := http.Get("http://" + address + ":8097/")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// nsxIdentities are the objects of NSX, each with what is never the same for another one.
func (s *sandbox) nsxIdentities() (all []string) {
	s.T.Helper()
	for _, o := range s.nsxObjects() {
		unique, _ := o.Object["unique_id"].(string)
		all = append(all, o.Path+" "+unique+" "+o.Address)
	}
	return all
}
