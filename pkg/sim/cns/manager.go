package cns

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Options configures a [Manager].
type Options struct {
	// VCenter is the name of the vCenter in events.
	VCenter string
	// Events gets the events of volumes. Nil: none.
	Events *event.Log
	// Seed determines the UUIDs of disks.
	Seed string
	// Dir has one directory for the contents of each volume. Empty: contents are not kept.
	Dir string
	// URL returns the URL of a datastore for clients. Nil: the one of vcsim.
	URL func(datastore types.ManagedObjectReference) string
	// Compatible reports whether a datastore meets a storage policy. Nil: always.
	Compatible func(policy string, datastore types.ManagedObjectReference) bool
	// FileService reports whether the file service of a vSAN datastore's cluster is enabled. Nil: always.
	FileService func(datastore types.ManagedObjectReference) bool
	// Cause returns the event that causes what happens to a VM now, or 0. Nil: always 0.
	Cause func(vm types.ManagedObjectReference) uint64
	// Guests shows disks to the guests of VMs. Nil: guests see no disks.
	Guests Guests
	// Now returns the time. Nil: time.Now.
	Now func() time.Time
}

// Manager is the CnsVolumeManager of a vCenter. It is safe for concurrent use. vcsim calls the methods named Cns…, which are
// CNS's API.
type Manager struct {
	types.ManagedObjectReference
	opts Options
	base *simulator.Context // of the vim25 registry; operations use copies (vc.Fresh)

	follower   *follower
	firstClass *disks
	stop       chan struct{}  // closed when the manager ends
	work       sync.WaitGroup // tasks, and deferred work

	shown shown // which guests see which disks

	vslm *simulator.Registry // its lock guards the catalogue of disks, and is taken before all other locks: see Guard

	mu sync.Mutex
	// volumes are the volumes by ID, order the same ones by age; only put and drop change them.
	volumes map[string]*volume
	order   []*volume
	last    uint64 // number of the newest volume
	// on are the attached volumes by VM; only hang and unhang change it.
	on map[vc.Ref]map[string]*volume
	// seen are the first-class disks of each VM that has any, by ID.
	seen map[vc.Ref]map[string]sighting
	// own are the VMs whose devices an operation of CNS is changing, under their lock.
	own map[vc.Ref]bool
	// making are the volumes that are being created; the channel is closed when that is done.
	making map[makingKey]chan struct{}
	used   map[string]bool // all IDs ever used
	// forgotten are the volumes dropped by Forget, by ID.
	forgotten map[string]*volume
	rules     []*rule // in the order of their arrival
	causes    map[string]uint64
	closed    bool
}

// New returns the manager of the vCenter with the vim25 registry of ctx. Call Close to end it.
func New(ctx *simulator.Context, o Options) *Manager {
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Manager{
		ManagedObjectReference: cns.CnsVolumeManagerInstance, opts: o, base: ctx,
		stop:    make(chan struct{}),
		volumes: map[string]*volume{},
		on:      map[vc.Ref]map[string]*volume{},
		seen:    map[vc.Ref]map[string]sighting{},
		own:     map[vc.Ref]bool{},
		making:  map[makingKey]chan struct{}{},
		used:    map[string]bool{},
		causes:  map[string]uint64{}, forgotten: map[string]*volume{},
	}
	m.follower = newFollower(m)
	ctx.Map.AddHandler(m.follower)
	m.firstClass = newDisks(m)
	ctx.Map.Put(m.firstClass)
	return m
}

// Registry returns the registry for Service.RegisterSDK.
func (m *Manager) Registry() *simulator.Registry {
	r := simulator.NewRegistry()
	r.Namespace, r.Path = cns.Namespace, cns.Path
	r.Put(m)
	r.Put(newDebugManager(m))
	return r
}

// fresh returns a context for one operation on vcsim's objects.
func (m *Manager) fresh() *simulator.Context { return vc.Fresh(m.base) }

// task answers a call with a task whose result is that of f.
func (m *Manager) task(name string, f func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault)) vc.Ref {
	return m.taskOn(m.ManagedObjectReference, name, f)
}

// taskOn is task for a call of another object.
func (m *Manager) taskOn(object vc.Ref, name string, f func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault)) vc.Ref {
	t := simulator.CreateTask(object, name, func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		if !m.begin() {
			return nil, new(types.RequestCanceled)
		}
		defer m.work.Done()
		return f(m.fresh())
	})
	ctx := m.fresh()
	on := ctx.Map.Get(object)
	if on == nil { // an object of CNS
		return vc.Run(ctx, t)
	}
	var ref vc.Ref
	ctx.WithLock(on, func() { ref = vc.Run(ctx, t) }) // its list of tasks changes
	return ref
}

// put adds a new volume. The caller holds the lock.
func (m *Manager) put(v *volume) {
	m.last++
	v.number = m.last
	m.volumes[v.id] = v
	m.order = append(m.order, v)
}

// drop removes a volume. The caller holds the lock.
func (m *Manager) drop(v *volume) {
	delete(m.volumes, v.id)
	i, found := slices.BinarySearchFunc(m.order, v.number, func(v *volume, number uint64) int { return cmp.Compare(v.number, number) })
	if found {
		m.order = slices.Delete(m.order, i, i+1)
	}
}

// each returns the result of a task about volumes, one spec after the other: f executes a spec, or gets the scripted fault. A
// call without specs is refused.
func each[T any](m *Manager, method string, specs []T, id func(*T) string,
	f func(spec *T, scripted types.BaseMethodFault) cnstypes.BaseCnsVolumeOperationResult,
) (types.AnyType, types.BaseMethodFault) {
	if len(specs) == 0 {
		return nil, &types.InvalidArgument{InvalidProperty: "specs"}
	}
	results := make([]cnstypes.BaseCnsVolumeOperationResult, 0, len(specs))
	for i := range specs {
		says := m.scripted(method, id(&specs[i]), vc.Ref{})
		if says.task != nil {
			return nil, says.task
		}
		results = append(results, f(&specs[i], says.fault))
	}
	return batch(results...), nil
}

// eachPlain is each for calls whose results only report errors.
func eachPlain[T any](m *Manager, method string, specs []T, id func(*T) string, f func(*T) types.BaseMethodFault,
) (types.AnyType, types.BaseMethodFault) {
	return each(m, method, specs, id, func(spec *T, fault types.BaseMethodFault) cnstypes.BaseCnsVolumeOperationResult {
		if fault == nil {
			fault = f(spec)
		}
		r := outcome(id(spec), fault)
		return &r
	})
}

// begin registers work that Close waits for; false once Close was called. The caller then calls m.work.Done.
func (m *Manager) begin() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.work.Add(1)
	return true
}

// later runs f in a goroutine, unless the manager is being closed: for work that needs other locks than those held now.
func (m *Manager) later(f func()) {
	if !m.begin() {
		return
	}
	go func() {
		defer m.work.Done()
		f()
	}()
}

// Close ends delays and the following of VMs, and waits for running operations. Delayed tasks fail with RequestCanceled. Closing
// again is harmless.
func (m *Manager) Close() {
	m.mu.Lock()
	if !m.closed {
		m.closed = true
		close(m.stop)
	}
	m.mu.Unlock()
	m.base.Map.RemoveHandler(m.follower)
	m.work.Wait()
}

// derive returns a UUID that depends on the seed and its arguments.
func (m *Manager) derive(of ...string) string {
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte("vsphere-sandbox cns\x00"+m.opts.Seed+"\x00"+m.opts.VCenter))
	for _, part := range of {
		id = uuid.NewSHA1(id, []byte(part))
	}
	return id.String()
}

// newID returns the ID of a new volume, derived from the seed and the volume's name. It is never reused; see nextID. The caller
// holds the lock.
func (m *Manager) newID(name, cluster string) string {
	for n := 0; ; n++ {
		id := m.derive("volume", name, cluster, strconv.Itoa(n))
		if !m.used[id] && m.volumes[id] == nil {
			m.used[id] = true
			return id
		}
	}
}

// diskUUID returns the UUID of a volume's disk: in the form of vSphere, and the same for all attachments.
func (m *Manager) diskUUID(id string) string { return "6000C29" + m.derive("disk", id)[7:] }
