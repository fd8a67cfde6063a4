package provider

import (
	"context"
	"log/slog"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
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
