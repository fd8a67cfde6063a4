package nsx

import (
	"io"
	"log"
	"os"
	"testing"
	"time"

	"github.com/vmware/vsphere-automation-sdk-go/runtime/protocol/client"
	"k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/loadbalancer"
	lbconfig "k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/loadbalancer/config"
	"k8s.io/cloud-provider-vsphere/pkg/nsxt"
	nsxtconfig "k8s.io/cloud-provider-vsphere/pkg/nsxt/config"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/nsxtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

const (
	cluster = "kubernetes"
	gateway = "/infra/tier-1s/workload"
	pool    = "services"
)

func TestMain(m *testing.M) {
	// As in upstream's cmd/vsphere-cloud-controller-manager.
	loadbalancer.AppName = "vsphere-cloud-controller-manager"
	log.SetOutput(io.Discard) // the SDK writes two lines for each call
	os.Exit(m.Run())
}

// rig is an NSX Manager with a gateway, an edge cluster and an IP pool.
type rig struct{ *nsxtest.Manager }

func start(t *testing.T, realize time.Duration) *rig {
	t.Helper()
	m := nsxtest.Start(t, nsx.Options{Realize: realize, Accounts: []nsx.Account{
		{User: "admin", Password: "right", Role: nsx.EnterpriseAdmin},
		{User: "remote@corp", Password: "right", Role: nsx.EnterpriseAdmin, Remote: true},
		{User: "ccm", Role: nsx.EnterpriseAdmin},
		{User: "auditor", Password: "right", Role: nsx.Auditor},
	}})
	m.Gateway(gateway)
	m.Pool(pool, "Services", "10.20.0.10", "10.20.0.12")
	return &rig{m}
}

// connector returns upstream's connection.
func (r *rig) connector(edit func(*nsxtconfig.Config)) client.Connector {
	r.Helper()
	c := &nsxtconfig.Config{Host: r.Addr(), User: "admin", Password: "right", CAFile: r.CAFile}
	if edit != nil {
		edit(c)
	}
	m, err := nsxt.NewConnectorManager(c)
	if err != nil {
		r.Fatal(err)
	}
	return m.GetConnector()
}

// balancer returns upstream's load balancers.
func (r *rig) balancer(edit func(*lbconfig.LBConfig)) loadbalancer.LBProvider {
	r.Helper()
	c := &lbconfig.LBConfig{LoadBalancer: lbconfig.LoadBalancerConfig{
		LoadBalancerClassConfig: lbconfig.LoadBalancerClassConfig{
			IPPoolName: "Services", TCPAppProfileName: "default-tcp-lb-app-profile", UDPAppProfileName: "default-udp-lb-app-profile",
		},
		Size: "SMALL", Tier1GatewayPath: gateway,
	}}
	if edit != nil {
		edit(c)
	}
	p, err := loadbalancer.NewLBProvider(c, r.connector(nil))
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// paths returns the paths of the objects, without those of the rig.
func (r *rig) paths() map[string]tree.Object {
	all := map[string]tree.Object{}
	for _, o := range r.Tree().All() {
		if o["_create_user"] != "admin" || o["tags"] != nil {
			all[o["path"].(string)] = o
		}
	}
	return all
}
