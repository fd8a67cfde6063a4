package nsx

import (
	"testing"
	"time"

	"github.com/vmware/vsphere-automation-sdk-go/services/nsxt/model"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/route"
	routeconfig "k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/route/config"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

// object is a JSON object.
type object = tree.Object

func allocation() model.IpAddressAllocation { return model.IpAddressAllocation{} }

// TestRoutes: a static route of the gateway for each node, as upstream's code makes, lists and deletes them.
func TestRoutes(t *testing.T) {
	r := start(t, 200*time.Millisecond)
	routes, err := route.NewRouteProvider(&routeconfig.Config{Route: routeconfig.RouteConfig{RouterPath: gateway}}, r.connector(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes(2) {
		routes.AddNode(n)
	}
	for i, cidr := range []string{"10.128.0.0/24", "10.128.1.0/24"} {
		name := nodes(2)[i].Name
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
