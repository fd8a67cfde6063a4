package provider

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// measures is what metrics tell of the vCenters; nothing before Initialize.
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

// health is what the probes tell of the vCenters; nothing before Initialize, as for a replica that does not lead.
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
