package stocksim

import (
	"crypto/tls"
	"fmt"
	"net/url"

	"github.com/vmware/govmomi/simulator"
)

// Server is a running vcsim: one datacenter, one cluster, powered-on VMs. Make one with [Start].
type Server struct {
	model  *simulator.Model
	server *simulator.Server
}

// Start builds the inventory with vcsim's own model and serves it with TLS at a free port of 127.0.0.1. A thousand VMs
// take it more than half a minute.
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

// URL is the address of the SOAP endpoint, with user and password. Its certificate is signed by nobody.
func (s *Server) URL() *url.URL {
	u := *s.server.URL
	return &u
}

// Remove removes the files of the inventory. The server continues until the program ends: to close it takes as long as the
// longest wait that a client is in.
func (s *Server) Remove() { s.model.Remove() }
