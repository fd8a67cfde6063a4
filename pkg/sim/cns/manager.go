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

// Options configure a [Manager].
type Options struct {
	// VCenter is its name in events.
	VCenter string
	// Events gets what happens to volumes; nil: nobody does.
	Events *event.Log
	// Seed makes the UUIDs of disks.
	Seed string
	// Dir is where the contents of volumes are, a directory each; empty: there are none.
	Dir string
	// URL returns what clients know a datastore by; nil: what vcsim has.
	URL func(datastore types.ManagedObjectReference) string
	// Compatible reports whether a datastore meets a storage policy; nil: all do.
	Compatible func(policy string, datastore types.ManagedObjectReference) bool
	// Cause returns the event that is the cause of what happens to a VM now, 0 when none is known; nil: never.
	Cause func(vm types.ManagedObjectReference) uint64
	// Guests show disks to what runs in VMs; nil: nothing there has any.
	Guests Guests
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Manager is a vCenter's CnsVolumeManager. All methods may be called from any goroutine; those named Cns… are CNS's API,
// called by vcsim.
type Manager struct {
	types.ManagedObjectReference
	opts Options
	base *simulator.Context // of the vim25 registry; operations work on copies (vc.Fresh)

	follower   *follower
	firstClass *disks
	stop       chan struct{}  // closed when the manager ends
	work       sync.WaitGroup // tasks, and what is done later

	shown shown // which guests see which disks

	disks sync.Mutex // the catalogue of disks; taken with nothing locked: calls of vSLM have it (see Guard), and lock VMs

	mu sync.Mutex
	// volumes are the volumes by id, order the same in the order in which they came; changed by put and drop only.
	volumes map[string]*volume
	order   []*volume
	last    uint64 // number of the volume that came last
	// on are the volumes that are attached to a VM, by its reference; changed by hang and unhang only.
	on map[vc.Ref]map[string]*volume
	// seen are the first class disks on each VM that has any, by id.
	seen map[vc.Ref]map[string]sighting
	// own are the VMs whose devices an operation of CNS is changing, under their lock.
	own map[vc.Ref]bool
	// making are names and container clusters of volumes that are being made; closed when that is done.
	making map[makingKey]chan struct{}
	used   map[string]bool // ids that there have ever been
	// forgotten are volumes whose record was dropped by Forget, by id.
	forgotten map[string]*volume
	rules     []*rule // scripted, in the order in which they came
	causes    map[string]uint64
	closed    bool
}

// New returns the manager of the vCenter whose vim25 registry ctx works on. Close ends it.
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

// Registry returns the registry that vcsim finds the manager in, for Service.RegisterSDK.
func (m *Manager) Registry() *simulator.Registry {
	r := simulator.NewRegistry()
	r.Namespace, r.Path = cns.Namespace, cns.Path
	r.Put(m)
	r.Put(newDebugManager(m))
	return r
}

// fresh is a context for one operation on vcsim's objects.
func (m *Manager) fresh() *simulator.Context { return vc.Fresh(m.base) }

// task answers a call with a task that ends in the results of f, one for each thing asked for.
func (m *Manager) task(name string, f func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault)) vc.Ref {
	return m.taskOn(m.ManagedObjectReference, name, f)
}

// taskOn is task for a call on another object.
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
	if on == nil { // CNS's own
		return vc.Run(ctx, t)
	}
	var ref vc.Ref
	ctx.WithLock(on, func() { ref = vc.Run(ctx, t) }) // its list of tasks changes
	return ref
}

// put adds a volume that is not there yet. The lock is held.
func (m *Manager) put(v *volume) {
	m.last++
	v.number = m.last
	m.volumes[v.id] = v
	m.order = append(m.order, v)
}

// drop removes a volume: from then on there is none of its id. The lock is held.
func (m *Manager) drop(v *volume) {
	delete(m.volumes, v.id)
	i, found := slices.BinarySearchFunc(m.order, v.number, func(v *volume, number uint64) int { return cmp.Compare(v.number, number) })
	if found {
		m.order = slices.Delete(m.order, i, i+1)
	}
}

// each makes the result of a task about volumes, one spec after the other: f does what is asked for, or is given the fault
// that the script has for it. A call for nothing is refused.
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

// eachPlain is each for calls whose results tell no more than what failed.
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

// begin announces work that Close waits for; false when it is too late. Who began calls m.work.Done.
func (m *Manager) begin() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.work.Add(1)
	return true
}

// later runs f on a goroutine of its own, unless the manager is being closed: for what cannot be done under the locks that
// are held now.
func (m *Manager) later(f func()) {
	if !m.begin() {
		return
	}
	go func() {
		defer m.work.Done()
		f()
	}()
}

// Close ends delays and stops following VMs, and waits for what is under way. Tasks that have been delayed end in
// RequestCanceled. Closing again is harmless.
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

// derive is a UUID that follows from the seed and from what it is for.
func (m *Manager) derive(of ...string) string {
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte("vsphere-sandbox cns\x00"+m.opts.Seed+"\x00"+m.opts.VCenter))
	for _, part := range of {
		id = uuid.NewSHA1(id, []byte(part))
	}
	return id.String()
}

// newID is the id of a new volume: it follows from the seed and the volume's name, and is one that no volume has ever
// had here; see nextID. The lock is held.
func (m *Manager) newID(name, cluster string) string {
	for n := 0; ; n++ {
		id := m.derive("volume", name, cluster, strconv.Itoa(n))
		if !m.used[id] && m.volumes[id] == nil {
			m.used[id] = true
			return id
		}
	}
}

// diskUUID is the UUID of a volume's disk: of the form that vSphere gives to disks, and the same whenever and wherever the
// disk is attached.
func (m *Manager) diskUUID(id string) string { return "6000C29" + m.derive("disk", id)[7:] }
