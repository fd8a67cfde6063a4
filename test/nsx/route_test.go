package nsx

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/vsphere-automation-sdk-go/services/nsxt/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/route"
	routeconfig "k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/route/config"

	ourroute "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/route"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/nsxtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

// object is a JSON object.
type object = tree.Object

func allocation() model.IpAddressAllocation { return model.IpAddressAllocation{} }

// TestRoutesParity: the routes of both providers are the same, field by field, but for the tag that says whose a route is: as nodes
// come, get a second network, and go.
func TestRoutesParity(t *testing.T) {
	all := nsxtest.Nodes(3)
	named := func(name string) *corev1.Node {
		return all[slices.IndexFunc(all, func(n *corev1.Node) bool { return n.Name == name })]
	}
	upstream, own := start(t, 0), start(t, 0)
	theirs, err := route.NewRouteProvider(&routeconfig.Config{Route: routeconfig.RouteConfig{RouterPath: gateway}}, upstream.connector(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		theirs.AddNode(n)
	}
	ours := ourroute.New(ourroute.Config{
		Client: own.client(), RouterPath: gateway, ClusterUID: func(context.Context) (string, error) { return "uid", nil },
		Nodes: func(context.Context) (list []corev1.Node, _ error) {
			for _, n := range all {
				list = append(list, *n)
			}
			return list, nil
		},
		Node: func(_ context.Context, name string) (*corev1.Node, error) { return named(name), nil },
	})
	same := func(what string) {
		t.Helper()
		without := own.paths()
		for path, o := range without {
			tags := slices.DeleteFunc(slices.Clone(o["tags"].([]any)), func(v any) bool { return v.(object)["scope"] == "vsphere.k8s.io/cluster-uid" })
			if len(tags) != len(o["tags"].([]any))-1 {
				t.Errorf("%s: %s has no tag with the cluster's UID", what, path)
			}
			o["tags"] = tags
		}
		if diff := cmp.Diff(plain(upstream.paths()), plain(without)); diff != "" {
			t.Fatalf("%s (-upstream +ours):\n%s", what, diff)
		}
		var listed [2][]*cloudprovider.Route
		for i, provider := range []cloudprovider.Routes{theirs, ours} {
			if listed[i], err = provider.ListRoutes(t.Context(), cluster); err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(listed[i], func(a, b *cloudprovider.Route) int { return strings.Compare(a.Name, b.Name) })
		}
		if diff := cmp.Diff(listed[0], listed[1]); diff != "" {
			t.Fatalf("%s, as listed (-upstream +ours):\n%s", what, diff)
		}
	}
	wanted := []*cloudprovider.Route{
		{TargetNode: "worker-0", DestinationCIDR: "10.128.0.0/24"},
		{TargetNode: "worker-1", DestinationCIDR: "10.128.1.0/24"},
		{TargetNode: "worker-1", DestinationCIDR: "10.129.1.0/24"},
		{TargetNode: "worker-2", DestinationCIDR: "10.128.2.0/24"},
	}
	for _, one := range wanted {
		for _, provider := range []cloudprovider.Routes{theirs, ours} {
			if err := provider.CreateRoute(t.Context(), cluster, "uid-of-"+string(one.TargetNode), one); err != nil {
				t.Fatal(err)
			}
		}
		same("with the route to " + one.DestinationCIDR)
	}
	if got := len(own.paths()); got != len(wanted) {
		t.Errorf("%d routes, want %d", got, len(wanted))
	}
	for _, provider := range []cloudprovider.Routes{theirs, ours} {
		listed, err := provider.ListRoutes(t.Context(), cluster)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range listed {
			if one.TargetNode == "worker-1" {
				if err := provider.DeleteRoute(t.Context(), cluster, one); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	same("without worker-1")
	if got := len(own.paths()); got != 2 {
		t.Errorf("%d routes are left, want 2", got)
	}
}

// plain are objects without what NSX sets.
func plain(all map[string]object) map[string]object {
	for _, o := range all {
		for field := range o {
			if strings.HasPrefix(field, "_") || slices.Contains([]string{"unique_id", "realization_id"}, field) {
				delete(o, field)
			}
		}
	}
	return all
}

// TestRoutes: a static route of the gateway for each node, as upstream's code makes, lists and deletes them.
func TestRoutes(t *testing.T) {
	r := start(t, 200*time.Millisecond)
	routes, err := route.NewRouteProvider(&routeconfig.Config{Route: routeconfig.RouteConfig{RouterPath: gateway}}, r.connector(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nsxtest.Nodes(2) {
		routes.AddNode(n)
	}
	for i, cidr := range []string{"10.128.0.0/24", "10.128.1.0/24"} {
		name := nsxtest.Nodes(2)[i].Name
		if err := routes.CreateRoute(t.Context(), cluster, "uid-of-"+name, &cloudprovider.Route{TargetNode: types.NodeName(name), DestinationCIDR: cidr}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Tree().Put(gateway+"/static-routes/other", object{
		"network": "10.200.0.0/24", "next_hops": []any{object{"ip_address": "10.9.0.1"}}, "tags": []any{object{"scope": "vsphere.k8s.io/cluster-name", "tag": "other"}},
	}, "admin"); err != nil {
		t.Fatal(err)
	}
	listed, err := routes.ListRoutes(t.Context(), cluster)
	if err != nil || len(listed) != 2 || listed[0].DestinationCIDR != "10.128.0.0/24" || listed[0].TargetNode != "worker-0" {
		t.Fatalf("%v, %v", listed, err)
	}
	o, err := r.Tree().Get(gateway + "/static-routes/" + listed[0].Name)
	if err != nil || o["display_name"] != "kubernetes_worker-0_10.128.0.0/24" {
		t.Errorf("%v, %v", o, err)
	}
	for _, one := range listed {
		if err := routes.DeleteRoute(t.Context(), cluster, one); err != nil {
			t.Fatal(err)
		}
	}
	if listed, err := routes.ListRoutes(t.Context(), cluster); err != nil || len(listed) != 0 {
		t.Errorf("after deletion: %v, %v", listed, err)
	}
}
