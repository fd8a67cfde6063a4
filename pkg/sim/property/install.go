package property

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Options configures a [Service]. The zero value is suitable for a vCenter.
type Options struct {
	// MaxWait limits a wait without a limit; it then ends with an empty answer, and clients call again. This ends the waits of
	// dead clients, because vcsim does not report closed connections. MaxWaitSeconds in the request is exact and not limited.
	// Default 60 s.
	MaxWait time.Duration

	// Gather is how long a wait collects further changes after the first one, so that a burst becomes one answer. Default 3 ms.
	Gather time.Duration

	// Idle is how long a collector listens without a wait. After that it costs nothing; the next wait compares everything.
	// Default 5 min.
	Idle time.Duration

	// Forget is how long the state of an idle collector is kept. After that its versions are refused with
	// InvalidCollectorVersion. Default 30 min.
	Forget time.Duration

	// Visible reports whether the session of a call may see an object (System.View). Invisible objects are left out of views and
	// traversals; naming one fails with NoPermission. It is called often and concurrently, without locks, for every kind of
	// object, including tasks and views. Nil: everything is visible. Call [Service.Recheck] when its results change.
	Visible func(ctx *simulator.Context, ref types.ManagedObjectReference) bool

	// Readable reports whether the session of a call may read the properties of a visible object (System.Read). Otherwise they
	// are reported as missing with NoPermission. It is called like Visible.
	Readable func(ctx *simulator.Context, ref types.ManagedObjectReference) bool

	// Shown returns the object as clients see it: a copy, or the object. It is called with the object locked, for every object
	// that is read. Nil: the object.
	Shown func(mo.Reference) mo.Reference
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&o.MaxWait, time.Minute)
	set(&o.Gather, 3*time.Millisecond)
	set(&o.Idle, 5*time.Minute)
	set(&o.Forget, 30*time.Minute)
	return o
}

// Service is the property collection of one simulated vCenter: the state of
// every collector of every session. It listens once on the vCenter's registry
// and passes each change to the collectors that hold the changed object.
//
// vcsim appends to lists such as Folder.childEntity, HostSystem.vm or
// ResourcePool.vm without notice. When a VM or folder appears, moves or
// disappears, and when a task completes, the lists of linked objects are
// compared again; for other entities, which are few, all lists. Selections that
// traverse such a list are then made again. Views are exact.
//
// All methods are safe for concurrent use.
type Service struct {
	ref      types.ManagedObjectReference
	registry *simulator.Registry
	options  Options
	schema   *schema
	newborns newborns
	tree     *tree
	limit    atomic.Int32 // of object updates in an answer; 0: defaultMaxObjects

	// listening is immutable and replaced: it is read for every change of the inventory, with the changing object locked.
	listening atomic.Pointer[[]*collector]

	mu         sync.Mutex
	collectors map[collectorKey]*collector
	views      map[viewKey]viewOf
	swept      time.Time
	closed     bool
}

// errNoCollector is returned by Install for a registry without a service instance.
var errNoCollector = errors.New("property collector: registry has no service content")

// Install replaces the PropertyCollector and ViewManager of the vCenter with this context (simulator.Service.Context, after
// Model.Create). Call it once, before the vCenter serves: sessions copy the collector at its first use. It also switches the
// in-memory client.
//
// Close the returned Service when the vCenter stops.
func Install(ctx *simulator.Context, options Options) (*Service, error) {
	content, ok := contentOf(ctx.Map)
	if !ok {
		return nil, errNoCollector
	}
	ref := content.PropertyCollector
	s := &Service{
		ref:        types.ManagedObjectReference{Type: "SandboxPropertyService", Value: uuid.NewString()},
		registry:   ctx.Map,
		options:    options.withDefaults(),
		schema:     newSchema(),
		tree:       newTree(),
		views:      make(map[viewKey]viewOf),
		collectors: make(map[collectorKey]*collector),
		swept:      time.Now(),
	}
	s.listening.Store(new([]*collector))

	singleton := &PropertyCollector{service: s}
	singleton.Self = ref
	ctx.Map.Put(singleton)
	if views := content.ViewManager; views != nil {
		manager := &ViewManager{service: s}
		manager.Self = *views
		ctx.Map.Put(manager)
	}
	ctx.Map.AddHandler(s)
	s.plant(ctx)

	if err := adoptInMemorySession(ctx, ref); err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends every wait with RequestCanceled and stops listening. Later waits are canceled at once. It does not wait for the
// answers to be written: the HTTP server does that.
func (s *Service) Close() {
	s.registry.RemoveHandler(s)
	s.mu.Lock()
	s.closed = true
	all := s.collectors
	s.collectors = make(map[collectorKey]*collector)
	s.mu.Unlock()
	for _, c := range all {
		c.end(new(types.RequestCanceled))
	}
	s.listening.Store(new([]*collector))
	s.dropViews(func(k viewKey, _ viewOf) bool {
		k.session.Remove(nil, k.ref) // the in-memory session outlives the service
		return true
	})
}

// EndSession ends the waits and frees the collectors, filters and views of the session with that key (types.UserSession.Key), as
// vCenter does when a session is terminated or expires: the waits fail with NotAuthenticated. It is not needed for a logout, and
// sessions that end otherwise are found within Options.Idle. Unknown sessions are ignored.
func (s *Service) EndSession(key string) {
	s.dropViews(func(_ viewKey, v viewOf) bool { return v.session.Key == key })
	for _, c := range s.all() {
		if c.belongsTo(key) {
			s.drop(c, notAuthenticated(c.key.ref))
		}
	}
}

// contentOf returns the content of a registry's service instance.
func contentOf(r *simulator.Registry) (types.ServiceContent, bool) {
	si, ok := r.Get(vim25.ServiceInstance).(interface {
		ServiceContent() types.ServiceContent
	})
	if !ok {
		return types.ServiceContent{}, false
	}
	return si.ServiceContent(), true
}

func notAuthenticated(ref types.ManagedObjectReference) types.BaseMethodFault {
	return &types.NotAuthenticated{NoPermission: types.NoPermission{Object: &ref, PrivilegeId: "System.View"}}
}

// Reference identifies the Service among the listeners of the registry. It is not a managed object.
func (s *Service) Reference() types.ManagedObjectReference { return s.ref }

// The three methods below implement vcsim's simulator.RegisterObject. They run with the changed object locked, so they only
// record the change: they lock and read no object, and never wait.

// PutObject notes a new object. Called by the registry.
func (s *Service) PutObject(_ *simulator.Context, obj mo.Reference) {
	s.newborns.put(obj)
	was, moved := s.tree.put(obj)
	_, entity := obj.(mo.Entity)
	ref := obj.Reference()
	near := append(was.all(), ref)
	s.each(func(c *collector) { c.noteEnter(ref, near, entity) })
	s.noteMoved(moved)
}

// UpdateObject notes changed properties. Called by the registry.
func (s *Service) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	ref := obj.Reference()
	done, effects := sideEffects(obj, changes)
	was, moved := s.tree.update(obj)
	left := was.all()
	if effects.moves {
		s.tree.doubt("HostSystem")
	}
	s.each(func(c *collector) {
		c.noteChange(ref, changes)
		if len(left) != 0 {
			c.noteMove(ref, left)
		}
		if done {
			c.noteSideEffects(effects)
		}
	})
	s.noteMoved(moved)
}

// RemoveObject notes that an object is about to be removed: it can still be found for a short time. Called by the registry; at a
// logout, and only then, also for the collectors, filters and views of the calling session, with the session's registry locked.
func (s *Service) RemoveObject(ctx *simulator.Context, ref types.ManagedObjectReference) {
	switch ref.Type {
	case "PropertyCollector", "PropertyFilter", "ContainerView", "ListView":
		if ctx != nil && ctx.Session != nil {
			s.EndSession(ctx.Session.Key)
		}
		return
	}
	was, entity, moved := s.tree.remove(ref)
	near := was.all()
	s.each(func(c *collector) { c.noteLeave(ref, near, entity) })
	s.noteMoved(moved)
}

// each calls f for the listening collectors, and puts idle ones to sleep.
func (s *Service) each(f func(*collector)) {
	listening := *s.listening.Load()
	if len(listening) == 0 {
		return
	}
	idleSince := time.Now().Add(-s.options.Idle)
	for _, c := range listening {
		if c.sleepIfIdle(idleSince) {
			s.unlisten(c)
			continue
		}
		f(c)
	}
}

func (s *Service) listen(c *collector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := *s.listening.Load(); !slices.Contains(old, c) && s.collectors[c.key] == c {
		list := append(slices.Clone(old), c)
		s.listening.Store(&list)
	}
}

// unlisten removes a collector from the list, unless it was woken.
func (s *Service) unlisten(c *collector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.isAsleep() {
		return
	}
	list := slices.DeleteFunc(slices.Clone(*s.listening.Load()), func(o *collector) bool { return o == c })
	s.listening.Store(&list)
}

// maxNewborns limits the number of remembered new objects. Older ones are complete: vcsim creates the children of one object in
// sequence.
const maxNewborns = 1024

// newborns are entities that were registered and not read since. vcsim continues writing to a new object without its lock
// (simulator/folder.go, createVM.Run), but with its parent's, which the creating task holds to its end. So the first reader of a
// new object takes the parent's lock, and then finds the object complete.
type newborns struct {
	mu      sync.Mutex
	parents map[types.ManagedObjectReference]types.ManagedObjectReference
	order   []types.ManagedObjectReference
}

// put records a new object.
func (n *newborns) put(obj mo.Reference) {
	e, ok := obj.(mo.Entity)
	if !ok || e.Entity().Parent == nil {
		return
	}
	ref := obj.Reference()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.parents == nil {
		n.parents = make(map[types.ManagedObjectReference]types.ManagedObjectReference)
	}
	if _, known := n.parents[ref]; !known {
		n.order = append(n.order, ref)
	}
	n.parents[ref] = *e.Entity().Parent
	if len(n.order) > 2*maxNewborns { // it still has those that were read
		for _, old := range n.order[:maxNewborns] {
			delete(n.parents, old)
		}
		n.order = append([]types.ManagedObjectReference(nil), n.order[maxNewborns:]...)
	}
}

// await returns when the object is complete. The caller must hold no lock of an object.
func (n *newborns) await(ctx *simulator.Context, ref types.ManagedObjectReference) {
	n.mu.Lock()
	parent, young := n.parents[ref]
	n.mu.Unlock()
	if !young {
		return
	}
	if obj := ctx.Map.Get(parent); obj != nil {
		ctx.Map.AcquireLock(ctx, obj)()
	}
	n.mu.Lock()
	delete(n.parents, ref)
	n.mu.Unlock()
}

// adoptInMemorySession puts this collector into the session of vcsim's in-memory client (Service.RoundTrip). That session is
// shared by the whole process and keeps its first collector, which is vcsim's as soon as a Model was created. It is reachable
// through the registry's call hook only, so this makes one harmless call under a temporary hook.
//
// The collector finds its Service through the context of each call, and passes the call to vcsim's without one: it serves every
// vCenter of the process.
func adoptInMemorySession(ctx *simulator.Context, ref types.ManagedObjectReference) error {
	adopt := func(s *simulator.Session) {
		if s == nil || s.Registry == nil {
			return
		}
		if _, ours := s.Registry.Get(ref).(*PropertyCollector); ours {
			return
		}
		pc := new(PropertyCollector)
		pc.Self = ref
		s.Registry.Put(pc)
	}
	adopt(ctx.Session)

	service := simulator.ServiceFromContext(ctx)
	if service == nil {
		return nil
	}
	hook := ctx.Map.Handler
	defer func() { ctx.Map.Handler = hook }()
	ctx.Map.Handler = func(call *simulator.Context, _ *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		adopt(call.Session)
		return nil, nil
	}
	_, err := methods.CurrentTime(context.Background(), service, &types.CurrentTime{This: vim25.ServiceInstance})
	return err
}
