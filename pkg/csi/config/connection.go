package config

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// connection is the client of one vCenter.
type connection struct {
	*vcenter.Client
	made settings
	vc   atomic.Pointer[VCenter] // in force
	end  context.CancelFunc      // nil before start
}

// settings are what a client is made of: another value needs another client. The content of the CA file is not part of
// it: a client reads it for every connection that it makes.
type settings struct {
	name, host         string
	port               int
	insecure           bool
	caFile, thumbprint string
	roundTrips         int
}

func settingsOf(vc VCenter) settings {
	return settings{vc.Tenant, vc.Server, vc.Port, vc.InsecureFlag, vc.CAFile, vc.Thumbprint, vc.SOAPRoundtripCount}
}

// connected returns the connection that will do for vc; nil for none.
func (s *Source) connected(vc VCenter) *connection {
	for _, c := range s.clients {
		if c.made == settingsOf(vc) {
			return c
		}
	}
	return nil
}

// connect makes a connection, which has made no call yet.
func (s *Source) connect(vc VCenter) (*connection, error) {
	c := &connection{made: settingsOf(vc)}
	c.vc.Store(&vc)
	cfg := vcenter.Config{
		Name: vc.Tenant, Server: vc.Server, Port: vc.Port,
		Insecure: vc.InsecureFlag, CAFile: vc.CAFile, Thumbprint: vc.Thumbprint,
		UserAgent:   s.opts.UserAgent,
		Credentials: func(ctx context.Context) (vcenter.Credentials, error) { return s.keep.credentials(ctx, *c.vc.Load()) },
		CallTimeout: s.opts.CallTimeout, MaxWait: s.opts.MaxWait, RoundTrips: vc.SOAPRoundtripCount,
		Logger: s.log,
	}
	if s.opts.OnCall != nil {
		cfg.OnCall = func(call vcenter.Call) { s.opts.OnCall(vc.Tenant, call) }
	}
	if s.opts.OnState != nil {
		cfg.OnState = func(state vcenter.State) { s.opts.OnState(vc.Tenant, state) }
	}
	var err error
	c.Client, err = vcenter.New(cfg)
	return c, err
}

// adopt brings a connection under the configuration that is now in force.
func (c *connection) adopt(vc VCenter) {
	if before := c.vc.Swap(&vc); originOf(*before) != originOf(vc) {
		c.CredentialsChanged()
	}
}

func (c *connection) start(ctx context.Context, running *sync.WaitGroup) {
	ctx, c.end = context.WithCancel(ctx)
	running.Go(func() { _ = c.Run(ctx) }) // it returns nil
}

func (c *connection) stop() {
	if c.end != nil {
		c.end()
	}
}
