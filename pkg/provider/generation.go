package provider

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// generation is everything that depends on the configuration. It is immutable: a new configuration makes a new generation,
// which may share connections with the one before. One call uses one generation throughout.
type generation struct {
	cfg     *config.Config
	opts    Options
	log     *slog.Logger
	metrics *metrics.Metrics // nil for none
	inv     *inventory.Inventory
	clients map[string]*connection // by tenant

	stop  context.CancelFunc // set by run
	ended chan struct{}      // closed when what run started has ended, with sessions logged out
}

// now returns the generation in force.
func (p *Provider) now() *generation { return p.current.Load() }

// generation returns a generation for cfg that has not started yet. It reuses connections and inventories of before, which
// may be nil.
func (p *Provider) generation(cfg *config.Config, before *generation) (*generation, error) {
	if err := p.opts.check(cfg); err != nil {
		return nil, err
	}
	g := &generation{
		cfg: cfg, opts: p.opts, log: p.log, metrics: p.metrics,
		clients: map[string]*connection{}, ended: make(chan struct{}),
	}
	ic := inventory.Config{
		Categories:     inventory.Categories{Region: cfg.Labels.Region, Zone: cfg.Labels.Zone},
		TagRefresh:     p.opts.TagRefresh,
		ParityUpstream: p.opts.Parity == ParityUpstream,
		OnChange:       p.inventoryChanged,
		Logger:         p.log,
	}
	if before != nil {
		ic.Previous = before.inv
	}
	for _, vc := range cfg.VCenters {
		made := settingsOf(vc)
		c := before.connection(vc.Tenant)
		if c == nil || c.made != made {
			var err error
			if c, err = p.connection(vc, made); err != nil {
				return nil, err
			}
		}
		p.want(vc)
		g.clients[vc.Tenant] = c
		ic.VCenters = append(ic.VCenters, inventory.VCenterConfig{Client: c.Client, Datacenters: vc.Datacenters})
	}
	var err error
	g.inv, err = inventory.New(ic)
	return g, err
}

// connection returns the connection of a tenant, or nil.
func (g *generation) connection(tenant string) *connection {
	if g == nil {
		return nil
	}
	return g.clients[tenant]
}

// run keeps the generation's inventory current until ctx ends or end is called. It returns when what the generation
// shares with another no longer depends on that other one.
func (g *generation) run(ctx context.Context) {
	ctx, g.stop = context.WithCancel(ctx)
	go func() {
		defer close(g.ended)
		if err := g.inv.Run(ctx); err != nil {
			g.log.Error("inventory ended", "err", err)
		}
	}()
	select {
	case <-g.inv.Running():
	case <-g.ended:
	}
}

// end stops what no other generation uses, and waits for it.
func (g *generation) end() {
	g.stop()
	<-g.ended
}

// connection is the client of one vCenter. It may outlive a generation.
type connection struct {
	*vcenter.Client
	made settings
	// vc is the configuration in force. It differs from the one that the client was created with only in what the client
	// does not depend on, and in the source of the credentials.
	vc atomic.Pointer[config.VCenter]
}

// settings are what a client is created with: if they change, a new client is needed. The content of caFile is not part
// of them, because a client reads that file for every connection.
type settings struct {
	tenant, server     string
	port               int
	insecure           bool
	caFile, thumbprint string
	roundTrips         int
}

func settingsOf(vc config.VCenter) settings {
	return settings{
		tenant: vc.Tenant, server: vc.Server, port: vc.Port, insecure: vc.InsecureFlag,
		caFile: vc.CAFile, thumbprint: vc.Thumbprint, roundTrips: vc.SOAPRoundtripCount,
	}
}

// connection returns a client that has made no call yet.
func (p *Provider) connection(vc config.VCenter, made settings) (*connection, error) {
	c := &connection{made: made}
	c.vc.Store(&vc)
	var err error
	c.Client, err = vcenter.New(vcenter.Config{
		Name:        vc.Tenant,
		Server:      vc.Server,
		Port:        vc.Port,
		Insecure:    vc.InsecureFlag,
		CAFile:      vc.CAFile,
		Thumbprint:  vc.Thumbprint,
		UserAgent:   UserAgent,
		Credentials: func(ctx context.Context) (vcenter.Credentials, error) { return p.credentials(ctx, *c.vc.Load()) },
		CallTimeout: p.opts.CallTimeout,
		MaxWait:     p.opts.MaxWait,
		RoundTrips:  vc.SOAPRoundtripCount,
		OnCall:      func(call vcenter.Call) { p.metrics.Call(vc.Tenant, call.Method, call.Result, call.Duration) },
		OnState:     func(s vcenter.State) { p.stateChanged(c, s) },
		Logger:      p.log,
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// stateChanged reports the state of a connection, if the connection is in force.
func (p *Provider) stateChanged(c *connection, s vcenter.State) {
	if p.now().connection(c.Name()) == c {
		p.events.state(*c.vc.Load(), s)
	}
}

// adopt switches a connection, which may have been in use before, to the configuration that is now in force.
func (p *Provider) adopt(c *connection, vc config.VCenter) {
	before := c.vc.Swap(&vc)
	if originOf(*before) != originOf(vc) {
		c.CredentialsChanged()
		if err := p.credentialsError(vc); !errors.Is(err, errNotRead) { // else reported once it has been read
			p.events.credentials(vc, c.State().Connected, err)
		}
	}
	if s := c.State(); !s.Since.IsZero() {
		p.events.state(vc, s)
	}
}

// measures returns the vCenters' state for the metrics; nil before Initialize.
func (p *Provider) measures() []metrics.VCenter {
	if !p.begun.Load() {
		return nil
	}
	var all []metrics.VCenter
	g := p.now()
	for _, s := range g.inv.Status() {
		state := g.clients[s.VCenter].State()
		all = append(all, metrics.VCenter{
			Name: s.VCenter, Connected: state.Connected, Reconnects: state.Reconnects,
			Synced: s.Synced, SyncedAt: s.SyncedAt, VMs: s.VMs, TagsReadAt: s.TagsReadAt,
		})
	}
	return all
}

// health returns the vCenters' state for the probes; nil before Initialize, as for a replica that does not lead.
func (p *Provider) health() []health.Status {
	if !p.begun.Load() {
		return nil
	}
	var all []health.Status
	g := p.now()
	for _, s := range g.inv.Status() {
		all = append(all, health.Status{
			Tenant: s.VCenter, Connected: g.clients[s.VCenter].State().Connected, Synced: s.Synced, Err: s.Doubt,
		})
	}
	return all
}
