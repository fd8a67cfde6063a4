package paravirtual

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// realized makes routes and allocations Ready, and allocates subnets, as NSX does.
func realized(resource string, o object) {
	ready := []any{object{"type": "Ready", "status": "True"}}
	switch resource {
	case "routesets", "staticroutes":
		field(ready, "status", "conditions")(o)
	case "ipaddressallocations":
		field(ready, "status", "conditions")(o)
		field("10.244.7.0/24", "status", "allocationIPs")(o)
	case "ippools":
		var subnets []any
		spec, _ := o["spec"].(object)
		requested, _ := spec["subnets"].([]any)
		for i, r := range requested {
			subnets = append(subnets, object{"name": r.(object)["name"], "cidr": fmt.Sprintf("10.244.%d.0/24", i)})
		}
		field(subnets, "status", "subnets")(o)
	}
}

// addressed gives a Node addresses.
func addressed(n *corev1.Node) {
	n.Status.Addresses = []corev1.NodeAddress{
		address(corev1.NodeExternalIP, "192.0.2.1"), address(corev1.NodeInternalIP, "10.1.0.1"), address(corev1.NodeInternalIP, "fd00::1"),
	}
}

func route(cidr string) *cloudprovider.Route {
	return &cloudprovider.Route{TargetNode: "worker-0", DestinationCIDR: cidr}
}

func sorted(all []*cloudprovider.Route) (texts []string) {
	for _, r := range all {
		texts = append(texts, fmt.Sprintf("%s %s %s", r.Name, r.TargetNode, r.DestinationCIDR))
	}
	slices.Sort(texts)
	return texts
}

func TestRouteSets(t *testing.T) {
	s := newSupervisor(t)
	s.react = realized
	s.add(machine(0))
	r := start(t, s, nil, true, newNode(0, addressed))
	p := routes{r.Provider}
	create := func(cidr string) {
		t.Helper()
		if err := p.CreateRoute(t.Context(), cluster, "node-uid-0", route(cidr)); err != nil {
			t.Fatal(err)
		}
	}
	create("10.244.0.0/24")
	set := s.get("routesets", "worker-0")
	wantRoute := object{"name": "worker-0-10.244.0.0-24-guest", "destination": "10.244.0.0/24", "target": "10.1.0.1"}
	if diff := cmp.Diff(object{"routes": []any{wantRoute}}, set.Object["spec"]); diff != "" {
		t.Error(diff)
	}
	if set.GetAPIVersion() != "nsx.vmware.com/v1alpha1" || set.GetKind() != "RouteSet" || set.GetLabels()["clusterName"] != cluster {
		t.Errorf("%v", set.Object)
	}
	if o := set.GetOwnerReferences(); len(o) != 2 || o[0].UID != ownerUID || o[1].Kind != "Node" || o[1].UID != "node-uid-0" {
		t.Errorf("owners %+v", o)
	}
	// The second subnet of a dual-stack Node: upstream never creates its route.
	create("fd01::/64")
	all, err := p.ListRoutes(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"worker-0-10.244.0.0-24-guest worker-0 10.244.0.0/24", "worker-0-fd01::-64-guest worker-0 fd01::/64"}, sorted(all)); diff != "" {
		t.Error(diff)
	}
	// The Node gets another address: upstream leaves the route to the old one.
	n := newNode(0, addressed)
	n.Status.Addresses[1].Address = "10.1.0.99"
	if _, err := r.client.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new address", func() error {
		create("10.244.0.0/24")
		spec, _ := s.get("routesets", "worker-0").Object["spec"].(object)
		if got := spec["routes"].([]any)[0].(object)["target"]; got != "10.1.0.99" {
			return errWaiting
		}
		return nil
	})
	// Not realized: it is not listed.
	s.set(func() { s.react = nil })
	s.edit(t, "routesets", "worker-0", field([]any{object{"type": "Ready", "status": "False", "message": "out of routes"}}, "status", "conditions"))
	if all, err := p.ListRoutes(t.Context(), cluster); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := p.ListRoutes(t.Context(), "other"); err != nil || len(all) != 0 {
		t.Errorf("of another cluster: %v, %v", all, err)
	}
	// Deleted one by one.
	for _, cidr := range []string{"10.244.0.0/24", "fd01::/64"} {
		if s.get("routesets", "worker-0") == nil {
			t.Fatal("deleted too early")
		}
		if err := p.DeleteRoute(t.Context(), cluster, route(cidr)); err != nil {
			t.Fatal(err)
		}
	}
	if s.get("routesets", "worker-0") != nil {
		t.Error("not deleted")
	}
	if err := p.DeleteRoute(t.Context(), cluster, route("10.244.0.0/24")); err != nil {
		t.Errorf("deleted twice: %v", err)
	}
	s.set(func() { s.denied["get routesets"] = true })
	if err := p.DeleteRoute(t.Context(), cluster, route("10.244.0.0/24")); err == nil {
		t.Error("a deletion that fails is reported as one that does not, as upstream does")
	}
}

func TestStaticRoutes(t *testing.T) {
	s := newSupervisor(t)
	s.react = realized
	s.add(machine(0))
	r := start(t, s, func(o *Options) { o.VPC, o.PodIPPoolType = true, PrivatePool }, true, newNode(0, addressed))
	p := routes{r.Provider}
	for _, cidr := range []string{"10.244.0.0/24", "fd01::/64", "10.244.0.0/24"} {
		if err := p.CreateRoute(t.Context(), cluster, "node-uid-0", route(cidr)); err != nil {
			t.Fatal(err)
		}
	}
	v4 := s.get("staticroutes", "worker-0")
	want := object{"network": "10.244.0.0/24", "nextHops": []any{object{"ipAddress": "10.1.0.1"}}}
	if diff := cmp.Diff(want, v4.Object["spec"]); diff != "" {
		t.Error(diff)
	}
	if v4.GetAPIVersion() != "crd.nsx.vmware.com/v1alpha1" || v4.GetKind() != "StaticRoute" {
		t.Errorf("%v", v4.Object)
	}
	all, err := p.ListRoutes(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"worker-0 worker-0 10.244.0.0/24", "worker-0-ipv6 worker-0 fd01::/64"}, sorted(all)); diff != "" {
		t.Error(diff)
	}
	for _, one := range all {
		if err := p.DeleteRoute(t.Context(), cluster, one); err != nil {
			t.Fatal(err)
		}
	}
	if s.get("staticroutes", "worker-0") != nil || s.get("staticroutes", "worker-0-ipv6") != nil {
		t.Error("not deleted")
	}
}

// TestRouteFollowsNode: a route to an address that the Node has no more is not listed until it is corrected, so that the stock
// controller has it corrected, in place. A Node without an address keeps its route, and a route to no Pod subnet of a Node is listed:
// the stock controller deletes it.
func TestRouteFollowsNode(t *testing.T) {
	for resource, vpc := range map[string]bool{"routesets": false, "staticroutes": true} {
		t.Run(resource, func(t *testing.T) {
			s := newSupervisor(t)
			s.react = realized
			s.add(machine(0))
			subnet := func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.244.0.0/24"} }
			r := start(t, s, func(o *Options) {
				if vpc {
					o.VPC, o.PodIPPoolType = true, PrivatePool
				}
			}, true, newNode(0, addressed, subnet))
			p := routes{r.Provider}
			create := func(cidr string) {
				t.Helper()
				if err := p.CreateRoute(t.Context(), cluster, "node-uid-0", route(cidr)); err != nil {
					t.Fatal(err)
				}
			}
			listed := func(what string, want ...string) {
				t.Helper()
				eventually(t, what, func() error {
					all, err := p.ListRoutes(t.Context(), cluster)
					if err != nil {
						return err
					}
					var got []string
					for _, one := range all {
						got = append(got, one.DestinationCIDR)
					}
					if !slices.Equal(got, want) {
						return fmt.Errorf("%v", got)
					}
					return nil
				})
			}
			readdress := func(to ...corev1.NodeAddress) {
				t.Helper()
				n := newNode(0, subnet)
				n.Status.Addresses = to
				if _, err := r.client.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			create("10.244.0.0/24")
			listed("the route", "10.244.0.0/24")
			uid := s.get(resource, "worker-0").GetUID()
			readdress(address(corev1.NodeInternalIP, "10.1.0.99"))
			listed("an old address")
			create("10.244.0.0/24")
			listed("the new one", "10.244.0.0/24")
			if text := fmt.Sprint(s.get(resource, "worker-0").Object["spec"]); !strings.Contains(text, "10.1.0.99") || strings.Contains(text, "10.1.0.1 ") {
				t.Error(text)
			}
			if got := s.get(resource, "worker-0").GetUID(); got != uid {
				t.Error("it was deleted and created")
			}
			readdress()
			listed("no address", "10.244.0.0/24")
			s.edit(t, resource, "worker-0", func(o object) {
				spec := o["spec"].(object)
				if vpc {
					spec["network"] = "10.9.0.0/24"
					return
				}
				spec["routes"].([]any)[0].(object)["destination"] = "10.9.0.0/24"
			})
			readdress(address(corev1.NodeInternalIP, "10.1.0.7"))
			listed("a route to what is no subnet of the Node", "10.9.0.0/24")
		})
	}
}

func TestRouteRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(*fakeSupervisor)
		cidr string
		want string
	}{
		"another cluster's": {func(s *fakeSupervisor) {
			s.put("routesets", object{"metadata": object{"name": "worker-0", "namespace": namespace, "labels": object{"clusterName": "other"}}}, "ADDED")
		}, "10.244.0.0/24", `belongs to cluster "other"`},
		"no address of the family": {func(*fakeSupervisor) {}, "fd01::/64", "it has no address of the family of its Pod subnet fd01::/64"},
		"no right":                 {func(s *fakeSupervisor) { s.denied["create routesets"] = true }, "10.244.0.0/24", "has no right"},
		"nonsense":                 {func(*fakeSupervisor) {}, "10.244.0.0", "netip.ParsePrefix"},
		"CRD missing":              {func(s *fakeSupervisor) { delete(s.versions, "nsx.vmware.com") }, "10.244.0.0/24", "no API nsx.vmware.com"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSupervisor(t)
			s.react = realized
			s.add(machine(0))
			r := start(t, s, nil, true, newNode(0, addressed, func(n *corev1.Node) { n.Status.Addresses = n.Status.Addresses[:2] }))
			s.set(func() { tc.do(s) })
			err := (routes{r.Provider}).CreateRoute(t.Context(), cluster, "node-uid-0", route(tc.cidr))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func (r running) podCIDR(t *testing.T, name string) string {
	t.Helper()
	n, err := r.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return n.Spec.PodCIDR
}

func TestPodSubnetsOfAPool(t *testing.T) {
	s := newSupervisor(t)
	s.react = realized
	s.add(machine(0), machine(1))
	r := start(t, s, func(o *Options) { o.RoutablePods = true }, true, newNode(0), newNode(1, func(n *corev1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = "10.0.0.0/24", []string{"10.0.0.0/24"} }))
	eventually(t, "a subnet", func() error {
		if r.podCIDR(t, "worker-0") != "10.244.0.0/24" {
			return errWaiting
		}
		return nil
	})
	if got := r.podCIDR(t, "worker-1"); got != "10.0.0.0/24" {
		t.Errorf("a node that had one: %s", got)
	}
	pool := s.get("ippools", "guest-ippool")
	want := object{"subnets": []any{object{"name": "worker-0", "ipFamily": "ipv4", "prefixLength": float64(24)}}}
	if diff := cmp.Diff(want, pool.Object["spec"]); diff != "" {
		t.Error(diff)
	}
	if o := pool.GetOwnerReferences(); len(o) != 1 || o[0].UID != ownerUID {
		t.Errorf("owners %+v", o)
	}
	if err := r.client.CoreV1().Nodes().Delete(t.Context(), "worker-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "released", func() error {
		spec, _ := s.get("ippools", "guest-ippool").Object["spec"].(object)
		if subnets, _ := spec["subnets"].([]any); len(subnets) != 0 {
			return errWaiting
		}
		return nil
	})
}

func TestPodSubnetsInAVPC(t *testing.T) {
	s := newSupervisor(t)
	s.react = realized
	s.add(machine(0), machine(1))
	foreign := object{"metadata": object{"name": "not-ours", "namespace": namespace}}
	s.set(func() { s.put("ipaddressallocations", foreign, "ADDED") })
	r := start(t, s, func(o *Options) { o.RoutablePods, o.VPC, o.PodIPPoolType = true, true, PublicPool }, true, newNode(0), newNode(1))
	eventually(t, "subnets", func() error {
		if r.podCIDR(t, "worker-0") != "10.244.7.0/24" || r.podCIDR(t, "worker-1") == "" {
			return errWaiting
		}
		return nil
	})
	a := s.get("ipaddressallocations", "worker-0")
	want := object{"ipAddressBlockVisibility": "External", "allocationSize": float64(256)}
	if diff := cmp.Diff(want, a.Object["spec"]); diff != "" {
		t.Error(diff)
	}
	if err := r.client.CoreV1().Nodes().Delete(t.Context(), "worker-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "released", func() error {
		if s.get("ipaddressallocations", "worker-0") != nil {
			return errWaiting
		}
		return nil
	})
	if s.get("ipaddressallocations", "worker-1") == nil || s.get("ipaddressallocations", "not-ours") == nil {
		t.Error("released what is not its own")
	}
}

// Requests are released for Nodes that do not exist, but not when no Node is known at all.
func TestRequests(t *testing.T) {
	have := requests(nil, []*corev1.Node{newNode(0), newNode(1)})
	if len(have) != 2 {
		t.Fatalf("%v", have)
	}
	if diff := cmp.Diff(have, requests(have, nil), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if got := requests(have, []*corev1.Node{newNode(1)}); len(got) != 1 || got[0].Name != "worker-1" {
		t.Errorf("%v", got)
	}
}

// A subnet that a Node cannot have is reported on the Node.
func TestPodSubnetOfAnother(t *testing.T) {
	s := newSupervisor(t)
	s.add(machine(0))
	pool := object{"metadata": object{"name": "guest-ippool", "namespace": namespace}, "spec": object{"subnets": []any{}}}
	field([]any{object{"name": "worker-0", "cidr": "10.244.5.0/24"}}, "status", "subnets")(pool)
	s.set(func() { s.put("ippools", pool, "ADDED") })
	r := start(t, s, func(o *Options) { o.RoutablePods = true }, true, newNode(0, func(n *corev1.Node) { n.Spec.PodCIDR = "10.0.0.0/24" }))
	eventually(t, "an event", func() error {
		r.Provider.nodeChange <- struct{}{}
		all, err := r.client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all.Items, func(e corev1.Event) bool { return e.Reason == ReasonPodSubnet }) {
			return errors.New("none")
		}
		return nil
	})
}
