// Package supervisor runs the Supervisor of a sandbox: the gate before its API server, its controllers over the sandbox's vCenter, and
// the credentials of the guest cluster, which is the sandbox's cluster.
//
// Floor 3.
package supervisor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	sv "github.com/vsphere-sandbox/vsphere-sandbox/pkg/supervisor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// API is the API server of a Supervisor, which the control plane serves.
type API interface {
	CA() *cert.CA
	REST() *rest.Config
	WaitReady(context.Context) error
	Kubeconfig(path, server, context, namespace string) error
}

// Part is the Supervisor of a sandbox. Set its fields before [Part.Start].
type Part struct {
	// Topology has the Supervisor's setup.
	Topology func() *topology.Topology
	// API returns the API server; nil as long as there is no cluster.
	API func() API
	// Guest is a client of the guest cluster's administrator.
	Guest    func() kubernetes.Interface
	VCenters func() vcenters.List
	// Nodes are those of the guest cluster.
	Nodes func() []api.Node
	// Block returns the number of the sandbox's block of loopback addresses.
	Block func() int
	// Dir is the directory of the Supervisor's files.
	Dir string
	// Detail reports what the boot waits for.
	Detail func(text string)
	// AddSecret is called with each token: it is a secret.
	AddSecret func(values ...string) error
	// DiskChanged is called with the id of each volume that a claim gets or loses.
	DiskChanged func(id string)
	// Rows receives what the Supervisor has after each change.
	Rows   Rows
	Log    *event.Log
	Logger *slog.Logger

	begun   chan error // gets the outcome of the start; nil before it
	cancel  context.CancelFunc
	running atomic.Pointer[sv.Supervisor]
	gate    atomic.Pointer[gate.Gate]
	names   index
	disks   disks
	handles handles

	once      sync.Once     // makes changed
	changed   chan struct{} // see changes
	following sync.WaitGroup
}

const (
	// host is the last number of the gate's address, behind those of vCenters and of the NSX Manager.
	host = 252
	// port is that of a Supervisor.
	port = 6443
	// firstAddress and lastAddress are the last numbers of the load balancer's addresses, behind those that the sandbox itself gives.
	firstAddress, lastAddress = 101, 250
	// contextName is the context of the kubeconfig.
	contextName = "supervisor"
	// tokenLifetime is that of the guest cluster's token.
	tokenLifetime = time.Hour
)

// Supervisor returns the running Supervisor, or nil.
func (p *Part) Supervisor() *sv.Supervisor { return p.running.Load() }

// Gate returns what stands before the API, or nil.
func (p *Part) Gate() *gate.Gate { return p.gate.Load() }

// guestDir has the files of a guest cluster.
func (p *Part) guestDir(name string) string { return filepath.Join(p.Dir, "guest", name) }

// Begin starts the Supervisor, whose API server is ready soon after the cluster's, and returns at once. [Part.Start] waits for it.
func (p *Part) Begin(ctx context.Context) error {
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.begun = make(chan error, 1)
	go func() { p.begun <- p.start(ctx) }()
	return nil
}

// start waits for the API server, puts the gate before it and starts the controllers.
func (p *Part) start(ctx context.Context) error {
	api := p.API()
	if err := api.WaitReady(ctx); err != nil {
		return err
	}
	if err := p.open(ctx, api); err != nil {
		return fmt.Errorf("supervisor: %w", err)
	}
	setup := setupOf(p.Topology())
	p.disks.open(p)
	s, err := sv.Start(ctx, sv.Options{
		REST: api.REST(), Setup: setup, VCenter: center{p}, Storage: &p.disks, Addresses: p.addresses(), TokenLifetime: tokenLifetime,
		OnToken: func(token string) error { return p.AddSecret(token) }, OnVolume: p.volumeChanged, OnChange: p.Changed, Logger: p.Logger,
	})
	if err != nil {
		return err
	}
	p.running.Store(s)
	p.following.Go(func() { p.follow(ctx) })
	p.Changed() // what was reported before it ran
	return nil
}

// Start waits for what [Part.Begin] has begun, and writes the credentials of the guest cluster, whose API server is ready.
func (p *Part) Start(ctx context.Context) error {
	p.Detail("the Supervisor's resources")
	select {
	case err := <-p.begun:
		p.begun <- nil // for Stop
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return fmt.Errorf("supervisor: %w", context.Cause(ctx))
	}
	api, setup := p.API(), setupOf(p.Topology())
	for _, g := range setup.Guests {
		err := p.Supervisor().Credentials(ctx, sv.Place{
			Guest: g, Dir: p.guestDir(g.Name), CA: api.CA().Cert, Port: p.addr().Port, Cluster: p.Guest(),
		})
		if err != nil {
			return err
		}
	}
	server := "https://" + p.Gate().Addr()
	if err := api.Kubeconfig(filepath.Join(p.Dir, "kubeconfig"), server, contextName, setup.Namespaces[0].Name); err != nil {
		return err
	}
	p.Log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "supervisor.up", Message: "the Supervisor answers at " + server})
	return nil
}

// open puts the gate before the API server.
func (p *Part) open(ctx context.Context, api API) error {
	l, err := loopback.ListenBeside(ctx, p.Block(), host, port)
	if err != nil {
		return err
	}
	config := api.REST()
	backend, err := url.Parse(config.Host)
	if err != nil {
		return err
	}
	roots := api.CA().Pool()
	pair, err := api.CA().Sign(cert.Leaf{
		CommonName: "supervisor", DNSNames: []string{sv.Host, "supervisor", "supervisor.default", "localhost"}, IPs: []net.IP{l.Addr().(*net.TCPAddr).IP},
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(backend); r.Out.Host = backend.Host },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64},
		FlushInterval: -1, // a watch has no end
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				p.Logger.Debug("supervisor proxy", "err", err)
			}
			http.Error(w, "the Supervisor's API server: "+err.Error(), http.StatusBadGateway)
		},
	}
	p.gate.Store(gate.New(l, proxy, gate.Options{
		TLS: &tls.Config{Certificates: []tls.Certificate{pair.TLS()}, MinVersion: tls.VersionTLS12}, Logger: p.Logger,
		OnMode: p.modeChanged, Kubernetes: true, Identify: identify,
	}))
	return nil
}

// identify returns the user of a request's token: its name is in the token's middle part.
func identify(r *http.Request) (session, user string) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return "", ""
	}
	return "", subject(token)
}

// modeChanged logs what happened to the API.
func (p *Part) modeChanged(from, to gate.Mode) {
	level := event.Warning
	if to.State == gate.Up {
		level = event.Info
	}
	p.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: level, Kind: "gate." + string(to.State), Object: event.Object{Kind: "Supervisor", Name: "supervisor"},
		Message: fmt.Sprintf("the Supervisor's API was %s, is %s", from, to),
	})
}

// addr is the gate's address.
func (p *Part) addr() *net.TCPAddr {
	at, err := net.ResolveTCPAddr("tcp", p.Gate().Addr())
	if err != nil {
		return &net.TCPAddr{} // it is one of a listener
	}
	return at
}

// addresses are those of the load balancer.
func (p *Part) addresses() (all []netip.Addr) {
	for last := firstAddress; last <= lastAddress; last++ {
		all = append(all, netip.AddrFrom4([4]byte{127, 1, byte(p.Block()), byte(last)}))
	}
	return all
}

// Stop ends the controllers and the gate. The API server ends with the control plane.
func (p *Part) Stop(ctx context.Context) error {
	var errs []error
	if p.begun != nil {
		p.cancel()
		select {
		case <-p.begun:
		case <-ctx.Done():
			errs = append(errs, context.Cause(ctx))
		}
		p.begun = nil
	}
	p.following.Wait()
	p.names.reset()
	if s := p.running.Swap(nil); s != nil {
		errs = append(errs, s.Stop(ctx))
	}
	p.disks.close()
	if g := p.gate.Swap(nil); g != nil {
		errs = append(errs, g.Close(ctx))
	}
	return errors.Join(errs...)
}

// VMsChanged reports VMs that have changed.
func (p *Part) VMsChanged(vms []world.VM) {
	names := make([]string, len(vms))
	for i, v := range vms {
		names[i] = v.Name
		p.names.set(v)
	}
	if s := p.Supervisor(); s != nil {
		s.VMsChanged(names...)
		p.Changed() // rows name VMs
	}
}

// Environment is how a program of the guest cluster finds its Supervisor.
type Environment struct {
	// Guest is the name of the guest cluster.
	Guest string
	// Dir has its files; see package supervisor.
	Dir string
	// Address and Port are the Supervisor's.
	Address string
	Port    int
	// HostEtc is an empty directory for the machine's /etc.
	HostEtc string
	// VPC: NSX gives nodes their networks of pods, and routes to them.
	VPC bool
}

// Environment returns that of the guest cluster's programs.
func (p *Part) Environment() (Environment, error) {
	if p.Supervisor() == nil {
		return Environment{}, errors.New("the Supervisor does not run")
	}
	spec := p.Topology().Spec.Supervisor
	g := spec.GuestClusters[0]
	e := Environment{
		Guest: g.Name, Dir: p.guestDir(g.Name), Address: p.addr().IP.String(), Port: p.addr().Port, HostEtc: filepath.Join(p.Dir, "host-etc"),
		VPC: spec.Network == topology.NetworkVPC,
	}
	return e, os.MkdirAll(e.HostEtc, 0o700)
}

// setupOf returns the setup of a topology's Supervisor.
func setupOf(t *topology.Topology) (setup sv.Setup) {
	spec := t.Spec.Supervisor
	setup.VPC = spec.Network == topology.NetworkVPC
	for _, n := range spec.Namespaces {
		setup.Namespaces = append(setup.Namespaces, sv.Namespace{Name: n.Name, Zones: n.Zones, StoragePolicies: n.StoragePolicies, Classes: n.Classes})
	}
	for _, z := range t.HostZones() {
		setup.Zones = append(setup.Zones, sv.Zone{Name: z.Name, Clusters: z.Clusters})
	}
	for ref := range t.AllVMs() {
		if ref.VM.Template == topology.Yes {
			setup.Images = append(setup.Images, ref.VM.Name)
		}
	}
	for _, g := range spec.GuestClusters {
		guest := sv.Guest{Name: g.Name, Namespace: g.Namespace}
		for _, ref := range t.Nodes() {
			guest.VMs = append(guest.VMs, sv.GuestVM{Name: ref.VM.Name, Zone: t.Place(ref).Zone, ControlPlane: ref.VM.Role == topology.RoleControlPlane})
		}
		setup.Guests = append(setup.Guests, guest)
	}
	return setup
}
