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
