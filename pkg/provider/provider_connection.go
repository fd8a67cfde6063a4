package provider

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

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
