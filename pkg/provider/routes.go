package provider

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/route"
)

// withRoutes adds routes at the NSX Manager to a generation, if they are configured.
func (p *Provider) withRoutes(g *generation) {
	if g.cfg.Route == nil || g.manager == nil {
		return
	}
	g.routes = route.New(route.Config{
		Client: g.manager.Client, RouterPath: g.cfg.Route.RouterPath, Logger: p.log,
		ClusterUID: p.cluster.id, Nodes: p.cluster.allNodes, Node: p.cluster.node,
	})
}

// routes is the cloudprovider.Routes of all generations: each call is one of the generation in force.
type routes struct{ *Provider }

// Routes implements [cloudprovider.Interface]. There are routes if the configuration has nsxt and route. The route controller makes
// them if it runs with --configure-cloud-routes, --allocate-node-cidrs and --cluster-cidr.
func (p *Provider) Routes() (cloudprovider.Routes, bool) {
	if p.now().routes == nil {
		return nil, false
	}
	return routes{p}, true
}

var errNoRoutes = errors.New("the configuration has no routes")

func (r routes) now() (*route.Routes, error) {
	if now := r.Provider.now().routes; now != nil {
		return now, nil
	}
	return nil, errNoRoutes
}

// ListRoutes implements [cloudprovider.Routes].
func (r routes) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	now, err := r.now()
	if err != nil {
		return nil, err
	}
	return now.ListRoutes(ctx, cluster)
}

// CreateRoute implements [cloudprovider.Routes].
func (r routes) CreateRoute(ctx context.Context, cluster, nameHint string, one *cloudprovider.Route) error {
	now, err := r.now()
	if err != nil {
		return err
	}
	return now.CreateRoute(ctx, cluster, nameHint, one)
}

// DeleteRoute implements [cloudprovider.Routes].
func (r routes) DeleteRoute(ctx context.Context, cluster string, one *cloudprovider.Route) error {
	now, err := r.now()
	if err != nil {
		return err
	}
	return now.DeleteRoute(ctx, cluster, one)
}

// allNodes returns all Nodes, as the API server has them in memory.
func (c *apiCluster) allNodes(ctx context.Context) ([]corev1.Node, error) {
	client, _, err := c.get()
	if err != nil {
		return nil, err
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (c *apiCluster) node(ctx context.Context, name string) (*corev1.Node, error) {
	client, _, err := c.get()
	if err != nil {
		return nil, err
	}
	return client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}
