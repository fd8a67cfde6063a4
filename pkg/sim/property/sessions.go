package property

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// collectorKey names a collector: sessions share the reference of the default
// one, and are told apart by their registry, which lives as long as they do.
type collectorKey struct {
	session *simulator.Registry
	ref     types.ManagedObjectReference
}

// collector finds or begins the state of a collector for the session of a call.
func (s *Service) collector(ctx *simulator.Context, ref types.ManagedObjectReference) *collector {
	s.sweep(ctx)
	key := collectorKey{ctx.Session.Registry, ref}
	s.mu.Lock()
	c := s.collectors[key]
	if c == nil {
		c = newCollector(s, key)
		if s.closed {
			c.ended = new(types.RequestCanceled)
		} else {
			s.collectors[key] = c
		}
	}
	s.mu.Unlock()
	c.usedBy(&ctx.Session.UserSession)
	return c
}

// all lists the collectors of all sessions.
func (s *Service) all() []*collector {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*collector, 0, len(s.collectors))
	for _, c := range s.collectors {
		list = append(list, c)
	}
	return list
}

// drop frees a collector. A wait on it ends with the fault.
func (s *Service) drop(c *collector, fault types.BaseMethodFault) {
	s.mu.Lock()
	if s.collectors[c.key] == c {
		delete(s.collectors, c.key)
	}
	s.mu.Unlock()
	c.end(fault)
	s.unlisten(c)
}

// sweep looks, now and then, for collectors that nobody waits on: they stop
// listening after Options.Idle, lose what they know after Options.Forget, and
// are dropped when their session is over. It rides on calls, so a vCenter that
// nobody calls does nothing.
func (s *Service) sweep(ctx *simulator.Context) {
	now := time.Now()
	s.mu.Lock()
	due := now.Sub(s.swept) >= s.options.Idle/4
	if due {
		s.swept = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	s.dropViews(func(_ viewKey, v viewOf) bool {
		return v.session.UserName != "" && !sessionActive(ctx, v.session)
	})
	for _, c := range s.all() {
		if user := c.user(); user.UserName != "" && !sessionActive(ctx, user) {
			s.drop(c, notAuthenticated(c.key.ref))
			continue
		}
		if c.sleepIfIdle(now.Add(-s.options.Idle)) {
			s.unlisten(c)
			c.forgetIfIdle(now.Add(-s.options.Forget))
		}
	}
}

// sessionActive asks the session manager. In-memory sessions have no user name
// and are not known to it.
func sessionActive(ctx *simulator.Context, user types.UserSession) bool {
	content, ok := contentOf(ctx.Map)
	if !ok || content.SessionManager == nil {
		return true
	}
	sm, ok := ctx.Map.Get(*content.SessionManager).(interface {
		SessionIsActive(*simulator.Context, *types.SessionIsActive) soap.HasFault
	})
	if !ok {
		return true
	}
	body, ok := sm.SessionIsActive(ctx, &types.SessionIsActive{
		SessionID: user.Key, UserName: user.UserName,
	}).(*methods.SessionIsActiveBody)
	return !ok || body.Res == nil || body.Res.Returnval
}
