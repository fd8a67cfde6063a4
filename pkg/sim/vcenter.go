package sim

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/vmware/govmomi/vim25"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/react"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/truth"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// VCenter is one running vCenter. All methods may be called from any goroutine.
type VCenter struct {
	spec   topology.VCenter
	addr   *net.TCPAddr
	events *event.Log
	logger *slog.Logger

	pair       *cert.Pair
	service    *service
	collectors *property.Service
	truth      *truth.Corrections
	guests     *guest.Guests
	hosts      *host.Hosts
	reactions  *react.Reactions
	gate       *gate.Gate
	console    *console
}

// newVCenter makes an empty vCenter that will be reached at addr.
func newVCenter(spec topology.VCenter, addr net.Addr, opts Options) (*VCenter, error) {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("listens on a %s address", addr.Network())
	}
	v := &VCenter{spec: spec, addr: tcp, events: opts.Events, logger: opts.Logger.With("vcenter", spec.Name)}
	var err error
	v.pair, err = opts.CA.Sign(cert.Leaf{CommonName: spec.Name, DNSNames: []string{"localhost"}, IPs: []net.IP{tcp.IP}})
	if err != nil {
		return nil, err
	}
	v.service, err = newService(spec.Name, spec.InstanceUUID, tcp.String(), opts.Dir, v.pair.TLS())
	return v, err
}

// build fills in the inventory.
func (v *VCenter) build(ctx context.Context, dir string, categories topology.Categories) (infos guests, err error) {
	return inventory.Build(ctx, inventory.Target{
		Context: v.service.ctx,
		Tags:    v.service.tags,
		Login:   v.service.credentials.inside,
		Dir:     dir,
	}, v.spec, categories)
}

// correct puts our parts in the places of vcsim's, and sets the guests going.
func (v *VCenter) correct(infos guests, opts Options) error {
	var err error
	if v.collectors, err = property.Install(v.service.ctx, property.Options{}); err != nil {
		return err
	}
	stock := opts.Topology.Spec.Stock
	v.truth = truth.Install(v.service.ctx, truth.Options{Stock: stock})
	timing := v.spec.Reactions.Guest
	boot := cmp.Or(time.Duration(timing.Boot), opts.BootDelay)
	v.guests = guest.Start(v.service.ctx, infos, guest.Options{
		VCenter: v.spec.Name, Events: opts.Events, Stock: stock,
		BootDelay: boot, AddressDelay: time.Duration(timing.Addresses), ShutdownDelay: time.Duration(timing.Shutdown),
	})
	v.hosts = host.Install(v.service.ctx, host.Options{
		VCenter: v.spec.Name, Events: opts.Events, Stock: stock, Boot: boot, Causing: v.guests.CausingRef,
	})
	v.reactions = react.Start(v.service.ctx, react.Options{
		VCenter: v.spec.Name, Events: opts.Events, Reactions: v.spec.Reactions, Hosts: v.hosts, Renew: v.guests.Renew,
	})
	v.service.ctx.Map.Handler = v.hook
	return nil
}

// serve opens the gate.
func (v *VCenter) serve(l net.Listener) {
	config := &tls.Config{Certificates: []tls.Certificate{v.pair.TLS()}, MinVersion: tls.VersionTLS12}
	v.console = openConsole(v.service.handler, config, v.logger)
	v.gate = gate.New(l, v.service.handler, gate.Options{
		TLS:    config,
		Logger: v.logger,
		OnMode: v.logMode,
	})
}

// close ends what was started, in an order in which nothing is waited for that still waits itself.
func (v *VCenter) close(ctx context.Context) error {
	if v.gate != nil {
		v.gate.Cut()
	}
	if v.collectors != nil {
		v.collectors.Close()
	}
	if v.console != nil {
		v.console.close()
	}
	v.reactions.Close()
	if v.hosts != nil {
		v.hosts.Close()
	}
	if v.guests != nil {
		v.guests.Close()
	}
	if v.truth != nil {
		v.truth.Close(v.service.ctx)
	}
	if v.gate != nil {
		return v.gate.Close(ctx)
	}
	return nil
}

// logMode reports changes of the gate.
func (v *VCenter) logMode(from, to gate.Mode) {
	if v.events == nil {
		return
	}
	level := event.Warning
	if to.State == gate.Up {
		level = event.Info
	}
	v.events.Append(event.Event{
		Plane:   event.PlaneSandbox,
		Level:   level,
		Kind:    "gate." + string(to.State),
		Object:  event.Object{Kind: "VCenter", VCenter: v.spec.Name, Name: v.spec.Name},
		Message: fmt.Sprintf("vCenter's API was %s, is %s", from, to),
	})
}

// Name is the name in the topology.
func (v *VCenter) Name() string { return v.spec.Name }

// InstanceUUID is what tells this vCenter from all others (About.InstanceUuid).
func (v *VCenter) InstanceUUID() string { return v.spec.InstanceUUID }

// Version is the release that the vCenter says it is.
func (v *VCenter) Version() string { return inventory.Version }

// Host is the IP address that the vCenter listens on.
func (v *VCenter) Host() string { return v.addr.IP.String() }

// Port is its port.
func (v *VCenter) Port() int { return v.addr.Port }

// Addr is "host:port".
func (v *VCenter) Addr() string { return net.JoinHostPort(v.Host(), strconv.Itoa(v.Port())) }

// URL is the address of its SOAP endpoint, without user.
func (v *VCenter) URL() *url.URL { return &url.URL{Scheme: "https", Host: v.Addr(), Path: vim25.Path} }

// User is the name of the account.
func (v *VCenter) User() string { return v.service.credentials.user }

// Password is the account's password now.
func (v *VCenter) Password() string { return *v.service.credentials.password.Load() }

// SetPassword changes the account's password for every login from now on. Sessions that are open stay open, as in a
// vCenter.
func (v *VCenter) SetPassword(password string) error {
	if password == "" {
		return fmt.Errorf("vcenter %q: %w", v.spec.Name, errNoPassword)
	}
	v.service.credentials.set(password)
	return nil
}

// Causing names the event that is the cause of what happens to the VM of that name until release is called.
func (v *VCenter) Causing(vm string, seq uint64) (release func()) { return v.guests.Causing(vm, seq) }

// Certificate is the vCenter's certificate, PEM.
func (v *VCenter) Certificate() []byte { return v.pair.Cert }

// Gate is the front of its API: call counts, outages.
func (v *VCenter) Gate() *gate.Gate { return v.gate }

// VMs counts the VMs in the inventory now.
func (v *VCenter) VMs() int { return len(v.service.ctx.Map.AllReference("VirtualMachine")) }
