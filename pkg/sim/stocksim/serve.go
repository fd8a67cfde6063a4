package stocksim

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime/debug"

	"github.com/google/uuid"
	// vcsim's endpoints, which register themselves. Missing is the administration of users, which refuses logins with a domain.
	_ "github.com/vmware/govmomi/cns/simulator"
	_ "github.com/vmware/govmomi/eam/simulator"
	_ "github.com/vmware/govmomi/lookup/simulator"
	_ "github.com/vmware/govmomi/pbm/simulator"
	"github.com/vmware/govmomi/simulator"
	_ "github.com/vmware/govmomi/sts/simulator"
	_ "github.com/vmware/govmomi/vapi/appliance/simulator"
	_ "github.com/vmware/govmomi/vapi/cis/tasks/simulator"
	_ "github.com/vmware/govmomi/vapi/cluster/simulator"
	_ "github.com/vmware/govmomi/vapi/crypto/simulator"
	_ "github.com/vmware/govmomi/vapi/esx/settings/simulator"
	_ "github.com/vmware/govmomi/vapi/namespace/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator"
	_ "github.com/vmware/govmomi/vapi/vcenter/consumptiondomains/simulator"
	_ "github.com/vmware/govmomi/vapi/vm/simulator"
	_ "github.com/vmware/govmomi/vsan/simulator"
	_ "github.com/vmware/govmomi/vslm/simulator"
)

// Options configures [Serve]. User and Password are mandatory, and the only valid login.
type Options struct {
	// Address is the listen address; port 0 means a free one. Default: 127.0.0.1:0.
	Address string
	// Certificate is the server's certificate. Default: vcsim's, which is self-signed.
	Certificate    *tls.Certificate
	User, Password string
	// Clusters is the number of clusters in the datacenter; Hosts and VMs are those in each cluster. Default: 1, 1 and 2.
	Clusters, Hosts, VMs int
	// Version is the release: "8.0.3". Default: vcsim's, an old one.
	Version string
}

// Topology has the inventory that [Serve] makes by default, with the user user@vsphere.local and the password "pass". Guests boot at once.
const Topology = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: stock}
spec:
  vcenters:
    - name: vc
      reactions: {guest: {boot: 20ms, addresses: 20ms, shutdown: 20ms}}
      users: [{name: user@vsphere.local, password: pass}]
      permissions: [{user: user@vsphere.local, role: Admin}]
      datacenters:
        - name: DC0
          networks: [{name: VM Network}]
          switches: [{name: DVS0, portGroups: [{name: DC0_DVPG0}]}]
          datastores: [{name: LocalDS_0}]
          clusters: [{name: DC0_C0, hosts: [{name: DC0_C0_H0}]}]
          vms: [{name: DC0_C0_RP0_VM0, cluster: DC0_C0}, {name: DC0_C0_RP0_VM1, cluster: DC0_C0}]
`

// Serve builds an inventory and serves it with TLS and all endpoints of vcsim, SOAP and REST. It is ready when Serve returns;
// each VM takes 40 ms.
func Serve(o Options) (*Server, error) {
	if o.User == "" || o.Password == "" {
		return nil, errors.New("stock vcsim: user and password are needed")
	}
	address := cmp.Or(o.Address, "127.0.0.1:0")
	if err := free(address); err != nil {
		return nil, fmt.Errorf("stock vcsim: %w", err)
	}
	m := simulator.VPX()
	m.Host, m.Cluster = 0, cmp.Or(o.Clusters, 1)
	m.ClusterHost, m.Machine = cmp.Or(o.Hosts, 1), cmp.Or(o.VMs, 2)
	if o.Version != "" {
		m.ServiceContent.About.Version, m.ServiceContent.About.ApiVersion = o.Version, o.Version+".0"
	}
	m.ServiceContent.About.InstanceUuid = uuid.NewString() // or all vcsims have the same
	if err := m.Create(); err != nil {
		m.Remove()
		return nil, fmt.Errorf("stock model: %w", err)
	}
	m.Service.RegisterEndpoints = true
	m.Service.Listen = &url.URL{Host: address, User: url.UserPassword(o.User, o.Password)}
	m.Service.TLS = new(tls.Config)
	if o.Certificate != nil {
		m.Service.TLS.Certificates = []tls.Certificate{*o.Certificate}
	}
	server, err := listen(m)
	if err != nil {
		m.Remove()
		return nil, err
	}
	return &Server{model: m, server: server}, nil
}

// free returns an error for an address that is in use, for which vcsim panics.
func free(address string) error {
	l, err := net.Listen("tcp", address) // a numeric address needs no lookup
	if err != nil {
		return err
	}
	return l.Close()
}

// listen starts the server, and recovers the panic for an address that was taken since.
func listen(m *simulator.Model) (s *simulator.Server, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("stock vcsim: %v\n%s", p, debug.Stack())
		}
	}()
	return m.Service.NewServer(), nil
}
