package property

import (
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// collector is the state of one PropertyCollector of one session.
//
// Two kinds of goroutines use it. A change of the inventory is noted under mu, with the changed object locked. A wait holds the
// turn, and takes mu only to read the notes, never while it locks an object: so neither can block the other.
type collector struct {
	service *Service
	key     collectorKey

	// turn is held by the one wait that may select, read and answer.
	turn chan struct{}
	// wake is filled when an answer may be ready.
	wake chan struct{}

	mu      sync.Mutex
	session types.UserSession // of the last call
	filters []*filter
	current *waiter
	used    time.Time // start or end of the last wait
	asleep  bool      // not listening: changes are not noted
	ended   types.BaseMethodFault
	answers answers
	pages   []page
	// gone are removed objects that may still be found for a short time.
	gone map[types.ManagedObjectReference]struct{}
}

// waiter is a waiting call.
type waiter struct {
	canceled chan struct{}
	fault    types.BaseMethodFault // set before canceled is closed
}

func newCollector(s *Service, key collectorKey) *collector {
	return &collector{
		service: s,
		key:     key,
		turn:    make(chan struct{}, 1),
		wake:    make(chan struct{}, 1),
		used:    time.Now(),
		asleep:  true,
		gone:    make(map[types.ManagedObjectReference]struct{}),
	}
}

func (c *collector) usedBy(user *types.UserSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = *user
}

func (c *collector) user() types.UserSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

func (c *collector) belongsTo(sessionKey string) bool { return c.user().Key == sessionKey }

func (c *collector) filterRefs() []types.ManagedObjectReference {
	c.mu.Lock()
	defer c.mu.Unlock()
	var refs []types.ManagedObjectReference
	for _, f := range c.filters {
		refs = append(refs, f.ref)
	}
	return refs
}

func (c *collector) addFilter(f *filter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.filters = append(c.filters, f)
	c.signal()
}

func (c *collector) removeFilter(ref types.ManagedObjectReference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A copy: the wait in progress may be iterating over the old one.
	c.filters = slices.DeleteFunc(slices.Clone(c.filters), func(f *filter) bool { return f.ref == ref })
}

// signal wakes the current or next wait.
func (c *collector) signal() {
	notify.Wake(c.wake)
}

// cancelWait ends the wait in progress.
func (c *collector) cancelWait(fault types.BaseMethodFault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancelLocked(fault)
}

func (c *collector) cancelLocked(fault types.BaseMethodFault) {
	if w := c.current; w != nil {
		w.fault = fault
		close(w.canceled)
		c.current = nil
	}
}

// end disables the collector: current and later waits fail.
func (c *collector) end(fault types.BaseMethodFault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = fault
	c.cancelLocked(fault)
	c.asleep = true
	c.filters, c.pages, c.gone = nil, nil, make(map[types.ManagedObjectReference]struct{})
}

// sleepIfIdle stops noting changes if the last wait ended before since. It reports whether the collector sleeps.
func (c *collector) sleepIfIdle(since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asleep && c.current == nil && len(c.turn) == 0 && c.used.Before(since) {
		c.asleep = true
		for _, f := range c.filters {
			f.dropNotes()
		}
		clear(c.gone)
	}
	return c.asleep
}

func (c *collector) isAsleep() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asleep
}

// forgetIfIdle frees the state of a sleeping collector.
func (c *collector) forgetIfIdle(since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asleep && c.used.Before(since) {
		c.restart()
		c.answers.invalidate()
		c.pages = nil
	}
}

// restart makes every filter report all its objects again.
func (c *collector) restart() {
	for _, f := range c.filters {
		f.restart()
	}
}

// PropertyCollector is the managed object that clients call. It carries no
// state: a session may end up with two of them for one reference, because
// vcsim copies the singleton without a lock. The state is the collector that
// the Service keeps for the session and the reference.
//
// The name matters: vcsim derives the type of the reference from it. It embeds
// vcsim's collector for calls without a session. Create it with [Install] only.
type PropertyCollector struct { //nolint:revive // see above
	simulator.PropertyCollector

	// service is set in the singleton of a registry only.
	service *Service
}

// state returns the collector behind the object for the session of a call, or nil without a session, or if the vCenter has no
// [Service].
func (pc *PropertyCollector) state(ctx *simulator.Context) *collector {
	if ctx.Session == nil || ctx.Session.Registry == nil {
		return nil
	}
	content, ok := contentOf(ctx.Map)
	if !ok {
		return nil
	}
	singleton, ok := ctx.Map.Get(content.PropertyCollector).(*PropertyCollector)
	if !ok || singleton.service == nil {
		return nil
	}
	return singleton.service.collector(ctx, pc.Self)
}

// managedObject returns the collector with its filters, as clients read it.
func (pc *PropertyCollector) managedObject(ctx *simulator.Context) mo.Reference {
	shown := &mo.PropertyCollector{Self: pc.Self}
	if c := pc.state(ctx); c != nil {
		shown.Filter = c.filterRefs()
	}
	return shown
}

// CreatePropertyCollector adds a collector to the session.
func (pc *PropertyCollector) CreatePropertyCollector(ctx *simulator.Context, r *types.CreatePropertyCollector) soap.HasFault {
	if pc.state(ctx) == nil {
		return pc.PropertyCollector.CreatePropertyCollector(ctx, r)
	}
	created := ctx.Session.Put(new(PropertyCollector))
	return &methods.CreatePropertyCollectorBody{
		Res: &types.CreatePropertyCollectorResponse{Returnval: created.Reference()},
	}
}

// DestroyPropertyCollector removes a collector with its filters. A wait on it ends with RequestCanceled. The default collector is
// only emptied.
func (pc *PropertyCollector) DestroyPropertyCollector(ctx *simulator.Context, r *types.DestroyPropertyCollector) soap.HasFault {
	c := pc.state(ctx)
	if c == nil {
		return pc.PropertyCollector.DestroyPropertyCollector(ctx, r)
	}
	for _, ref := range c.filterRefs() {
		ctx.Session.Remove(ctx, ref)
	}
	c.service.drop(c, new(types.RequestCanceled))
	ctx.Session.Remove(ctx, r.This)
	return &methods.DestroyPropertyCollectorBody{Res: new(types.DestroyPropertyCollectorResponse)}
}

// CreateFilter adds a filter. A wait in progress delivers its objects at once. Like vCenter it refuses a selection with an
// undefined name, or with a start object that is missing or invisible.
func (pc *PropertyCollector) CreateFilter(ctx *simulator.Context, r *types.CreateFilter) soap.HasFault {
	c := pc.state(ctx)
	if c == nil {
		return pc.PropertyCollector.CreateFilter(ctx, r)
	}
	body := new(methods.CreateFilterBody)
	sel, fault := compile(c.service.specificRoots(ctx, []types.PropertyFilterSpec{r.Spec}))
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	if fault := c.service.startable(ctx, sel, r.Spec); fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	object := &PropertyFilter{collector: c}
	object.Spec, object.PartialUpdates = r.Spec, r.PartialUpdates
	ref := ctx.Session.Put(object).Reference()
	c.addFilter(newFilter(c, ref, r.Spec, r.PartialUpdates, sel))

	body.Res = &types.CreateFilterResponse{Returnval: ref}
	return body
}

// CancelWaitForUpdates ends the wait in progress, if there is one.
func (pc *PropertyCollector) CancelWaitForUpdates(ctx *simulator.Context, r *types.CancelWaitForUpdates) soap.HasFault {
	c := pc.state(ctx)
	if c == nil {
		return pc.PropertyCollector.CancelWaitForUpdates(r)
	}
	c.cancelWait(new(types.RequestCanceled))
	return &methods.CancelWaitForUpdatesBody{Res: new(types.CancelWaitForUpdatesResponse)}
}

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
