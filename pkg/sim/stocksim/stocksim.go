package stocksim

import (
	"crypto/tls"
	"fmt"
	"net/url"

	"github.com/vmware/govmomi/simulator"
)

// Server is a running vcsim: one datacenter, one cluster, powered-on VMs. Create one with [Start].
type Server struct {
	model  *simulator.Model
	server *simulator.Server
}

// Start builds the inventory with vcsim's model and serves it with TLS at a free port of 127.0.0.1. A thousand VMs take more than
// half a minute.
func Start(hosts, vms int) (*Server, error) {
	m := simulator.VPX()
	m.Host = 0
	m.ClusterHost, m.Machine = hosts, vms
	if err := m.Create(); err != nil {
		m.Remove()
		return nil, fmt.Errorf("stock model: %w", err)
	}
	m.Service.TLS = new(tls.Config)
	return &Server{model: m, server: m.Service.NewServer()}, nil
}

// URL returns the address of the SOAP endpoint, with user and password. Its certificate is self-signed.
func (s *Server) URL() *url.URL {
	u := *s.server.URL
	return &u
}

// Remove removes the files of the inventory. The server runs until the process ends, because closing it waits for all waiting
// clients.
func (s *Server) Remove() { s.model.Remove() }
