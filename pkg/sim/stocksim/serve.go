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
	// The endpoints that vcsim itself has, which register themselves.
	_ "github.com/vmware/govmomi/cns/simulator"
	_ "github.com/vmware/govmomi/pbm/simulator"
	"github.com/vmware/govmomi/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator"
)

// Options of [Serve]. User and Password are mandatory, and the only ones that get in.
type Options struct {
	// Address is where to listen; port 0 is a free one. Default: 127.0.0.1:0.
	Address string
	// Certificate is what the server shows. Default: the one that every vcsim has, which nobody signed.
	Certificate    *tls.Certificate
	User, Password string
	// Clusters are in the one datacenter, VMs in each cluster, Hosts, too. Default: 1, 1 and 2.
	Clusters, Hosts, VMs int
	// Version is what it says it is: "8.0.3". Default: vcsim's own, an old one.
	Version string
}

// Serve builds an inventory and serves it with TLS and every endpoint that vcsim has, SOAP and REST. It is ready when Serve
// returns; a VM takes it 40 ms.
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
	m.ServiceContent.About.InstanceUuid = uuid.NewString() // or all vcsims have one
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

// free says why an address cannot be listened on, which vcsim answers with a panic.
func free(address string) error {
	l, err := net.Listen("tcp", address) // a number and a port are given: nothing is looked up
	if err != nil {
		return err
	}
	return l.Close()
}

// listen starts the server, which panics where somebody was faster at its address.
func listen(m *simulator.Model) (s *simulator.Server, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("stock vcsim: %v\n%s", p, debug.Stack())
		}
	}()
	return m.Service.NewServer(), nil
}
