package property

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
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
