package property

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// collectorKey identifies a collector: sessions share the reference of the default one and differ in their registry, which has
// the same lifetime.
type collectorKey struct {
	session *simulator.Registry
	ref     types.ManagedObjectReference
}

// collector returns or creates the collector for the session of a call.
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

// sweep occasionally checks for idle collectors: they stop listening after Options.Idle, lose their state after Options.Forget,
// and are dropped with their session. It runs during calls, so an unused vCenter does nothing.
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

// sessionActive asks the session manager. In-memory sessions have no user name and are unknown to it.
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

// begin takes the turn: it cancels the wait in progress and waits for its end.
func (c *collector) begin(ctx *simulator.Context) (*waiter, types.BaseMethodFault) {
	w := &waiter{canceled: make(chan struct{})}
	c.mu.Lock()
	if c.ended != nil {
		defer c.mu.Unlock()
		return nil, c.ended
	}
	c.cancelLocked(new(types.RequestCanceled))
	c.current = w
	c.mu.Unlock()

	select {
	case c.turn <- struct{}{}:
		return w, nil
	case <-w.canceled:
		return nil, w.fault
	case <-ctx.Done():
		c.retire(w)
		return nil, new(types.RequestCanceled)
	}
}

// finish releases the turn.
func (c *collector) finish(w *waiter) {
	c.retire(w)
	<-c.turn
}

func (c *collector) retire(w *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = time.Now()
	if c.current == w {
		c.current = nil
	}
}

// begun judges the version of a request, and makes sure that changes are noted before anything is read.
func (c *collector) begun(version string) (*types.UpdateSet, verdict) {
	c.mu.Lock()
	v := c.answers.judge(version)
	last := c.answers.last
	slept := c.asleep
	if v == unknown || v == again {
		c.mu.Unlock()
		return last, v
	}
	c.asleep = c.ended != nil
	c.mu.Unlock()

	c.service.listen(c)

	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case v == fresh:
		c.restart()
	case slept:
		for _, f := range c.filters {
			f.resync()
		}
	}
	return last, v
}

// answer returns an update set, even for a canceled wait: the next call with the same version gets it, too.
func (c *collector) answer(version string, set *types.UpdateSet) *types.UpdateSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers.give(version, set)
}

// visible reports whether the session of a call may see an object. It is called without locks of the inventory.
func (s *Service) visible(ctx *simulator.Context, ref types.ManagedObjectReference) bool {
	return s.options.Visible == nil || s.options.Visible(ctx, ref)
}

func (s *Service) readable(ctx *simulator.Context, ref types.ManagedObjectReference) bool {
	return s.options.Readable == nil || s.options.Readable(ctx, ref)
}

// onlyVisible removes the references that the session may not see. It reuses the list.
func (s *Service) onlyVisible(ctx *simulator.Context, refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	if s.options.Visible == nil {
		return refs
	}
	kept := refs[:0]
	for _, ref := range refs {
		if s.visible(ctx, ref) {
			kept = append(kept, ref)
		}
	}
	return kept
}

// Recheck makes every filter compare everything with what it delivered: newly visible objects enter, others leave, and newly
// readable properties are delivered. Call it when permissions changed.
func (s *Service) Recheck() {
	s.each(func(c *collector) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, f := range c.filters {
			f.resync()
			f.reselect = f.reselect || f.selecting
		}
		c.signal()
	})
}

// notVisible returns the fault for a named object that is invisible.
func notVisible(ref types.ManagedObjectReference) *types.NoPermission {
	return &types.NoPermission{Object: &ref, PrivilegeId: "System.View"}
}

// denied reports properties as unreadable.
func (p *plan) denied(ref types.ManagedObjectReference) []types.MissingProperty {
	var missing []types.MissingProperty
	for i := range p.entries {
		if p.entries[i].valid {
			missing = append(missing, types.MissingProperty{
				Path:  p.entries[i].name,
				Fault: types.LocalizedMethodFault{Fault: &types.NoPermission{Object: &ref, PrivilegeId: "System.Read"}},
			})
		}
	}
	return missing
}

// Usage counts the objects of clients.
type Usage struct {
	Collectors int // that were used
	Filters    int
	Views      int
}

// Usage counts the current objects of the vCenter's clients.
func (s *Service) Usage() Usage {
	var u Usage
	for _, c := range s.all() {
		u.Collectors++
		u.Filters += len(c.filterRefs())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u.Views = len(s.views)
	return u
}
