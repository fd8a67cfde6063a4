package sim

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// ESXOptions configures [StartESX].
type ESXOptions struct {
	// Listener is where the host serves. Required; the host takes it over.
	Listener net.Listener
	// Datastores and VMs are numbers of vcsim's model; the VMs are on if Autostart.
	Datastores, VMs int
	Autostart       bool
	// Login is the host's user. Nil accepts every login.
	Login *url.Userinfo
	// Vcsim has the certificate, the trace, the delays and the choice of HTTP. Its inventory is a vCenter's and has no effect.
	Vcsim Vcsim
}

// ESX is a standalone ESX host: vcsim's model and endpoints, without the corrections of a vCenter.
type ESX struct {
	model *simulator.Model
	front VCenter // for its gate and its options
	url   *url.URL
}

// StartESX builds and serves a standalone host. Close ends it.
func StartESX(o ESXOptions) (*ESX, error) {
	m := simulator.ESX()
	m.Datastore, m.Machine, m.Autostart = o.Datastores, o.VMs, o.Autostart
	globals.Lock()
	defer globals.Unlock()
	if err := m.Create(); err != nil {
		m.Remove()
		return nil, fmt.Errorf("esx model: %w", err)
	}
	address := o.Listener.Addr().String()
	e := &ESX{model: m, url: &url.URL{Scheme: o.Vcsim.scheme(), Host: address, Path: vim25.Path}}
	ctx, s := m.Service.Context, m.Service
	s.Listen = &url.URL{Scheme: e.url.Scheme, Host: address, Path: vim25.Path, User: o.Login}
	ctx.Map.SessionManager().ServiceHostName = address
	ctx.Map.OptionManager().UpdateOptions(&types.UpdateOptions{ChangedValue: []types.BaseOptionValue{
		&types.OptionValue{Key: "vcsim.server.url", Value: e.url.String()},
	}})
	s.RegisterSDK(ctx.Map, vim25.Path+"/vimService")
	s.ServeMux.HandleFunc(vim25.Path+"/vimServiceVersions.xml", s.ServiceVersions)
	s.ServeMux.HandleFunc(datastorePath, s.ServeDatastore)
	s.ServeMux.HandleFunc("/nfc/", simulator.ServeNFC)
	s.ServeMux.HandleFunc("/about", s.About)
	config, err := e.tls(address, o.Vcsim.Certificate)
	if err != nil {
		m.Remove()
		return nil, err
	}
	ctx.Map.SessionManager().TLS = func() *tls.Config { return config }
	var handler http.Handler = s.ServeMux
	if o.Vcsim.Trace != nil {
		handler = traced(handler, o.Vcsim.Trace)
	}
	e.front.gate = gate.New(o.Listener, handler, gate.Options{TLS: config, Plain: o.Vcsim.PlainHTTP, Logger: slog.New(slog.DiscardHandler)})
	if err := e.front.delay(&o.Vcsim); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// tls returns the configuration of the host's server, with a new certificate unless one is given.
func (e *ESX) tls(address string, given *tls.Certificate) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if given != nil {
		config.Certificates = []tls.Certificate{*given}
		return config, nil
	}
	ca, err := cert.NewCA("vsphere-sandbox ESX")
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	pair, err := ca.Sign(cert.Leaf{CommonName: "localhost.localdomain", DNSNames: []string{"localhost"}, IPs: []net.IP{net.ParseIP(host)}})
	if err != nil {
		return nil, err
	}
	config.Certificates = []tls.Certificate{pair.TLS()}
	return config, nil
}

// URL returns the address of the host's SOAP endpoint, without user.
func (e *ESX) URL() *url.URL { return e.url }

// Close ends the host and removes its files.
func (e *ESX) Close() error {
	e.front.gate.Cut()
	e.model.Remove()
	return nil
}
