package inventory

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// index holds one vCenter's objects. Slices in its maps are replaced, never modified, so that callers may keep them.
type index struct {
	// writing is held while VMs and entities change, from before their new values are computed. Readers do not wait for it.
	writing sync.Mutex
	strings interner // used with writing held

	mu             sync.RWMutex
	vms            map[types.ManagedObjectReference]*VM
	unknown        map[types.ManagedObjectReference]*VM // VMs without a known UUID
	byUUID         map[UUID][]*VM
	byName         map[string][]*VM // by hostname, folded
	byLabel        map[string][]*VM // by the first label of a hostname with several
	byIP           map[netip.Addr][]*VM
	entities       map[types.ManagedObjectReference]entity
	datacenterRefs map[types.ManagedObjectReference]*datacenterRef
	departed       departed

	layout atomic.Uint64 // incremented when a datacenter name may match another datacenter
}

func newIndex() *index {
	return &index{
		vms:            map[types.ManagedObjectReference]*VM{},
		unknown:        map[types.ManagedObjectReference]*VM{},
		byUUID:         map[UUID][]*VM{},
		byName:         map[string][]*VM{},
		byLabel:        map[string][]*VM{},
		byIP:           map[netip.Addr][]*VM{},
		entities:       map[types.ManagedObjectReference]entity{},
		datacenterRefs: map[types.ManagedObjectReference]*datacenterRef{},
		departed:       departed{},
	}
}

// put makes vm, a new value, the current state of its reference. If the UUID has changed, departed keeps the reference for
// the old one, because the VM still exists.
func (x *index) put(vm *VM) {
	if old := x.drop(vm.Ref); old != nil && old.UUID != vm.UUID && old.UUID != (UUID{}) {
		x.departed.add(old)
	}
	x.vms[vm.Ref] = vm
	if vm.UUID == (UUID{}) {
		x.unknown[vm.Ref] = vm
	} else {
		add(x.byUUID, vm.UUID, vm)
		x.departed.returned(vm)
	}
	if vm.folded != "" {
		add(x.byName, vm.folded, vm)
	}
	if short, ok := firstLabel(vm.folded); ok {
		add(x.byLabel, short, vm)
	}
	vm.eachIP(func(ip netip.Addr) { add(x.byIP, ip, vm) })
}

// drop removes the VM with the given reference and returns it, or nil.
func (x *index) drop(ref types.ManagedObjectReference) *VM {
	vm := x.vms[ref]
	if vm == nil {
		return nil
	}
	delete(x.vms, ref)
	delete(x.unknown, ref)
	remove(x.byUUID, vm.UUID, vm)
	remove(x.byName, vm.folded, vm)
	if short, ok := firstLabel(vm.folded); ok {
		remove(x.byLabel, short, vm)
	}
	vm.eachIP(func(ip netip.Addr) { remove(x.byIP, ip, vm) })
	return vm
}

// leave drops a VM that the watch no longer reports.
func (x *index) leave(ref types.ManagedObjectReference) {
	if vm := x.drop(ref); vm != nil && vm.UUID != (UUID{}) {
		x.departed.add(vm)
	}
}

// uuid returns the VMs with the given UUID, in this byte order.
func (x *index) uuid(u UUID) []*VM {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byUUID[u]
}

// host returns the VMs whose guests report exactly this name, and the other candidates: hostnames with this first label,
// or, if the name has several labels, hostnames that are its first label alone.
func (x *index) host(folded string) (exact, others []*VM) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	exact = x.byName[folded]
	if label, ok := firstLabel(folded); ok {
		return exact, x.byName[label]
	}
	return exact, x.byLabel[folded]
}

func (x *index) ip(ip netip.Addr) []*VM {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byIP[ip]
}

func add[K comparable](m map[K][]*VM, key K, vm *VM) {
	old := m[key]
	if slices.Contains(old, vm) { // two adapters with one address
		return
	}
	all := make([]*VM, len(old)+1)
	copy(all, old)
	all[len(old)] = vm
	m[key] = all
}

func remove[K comparable](m map[K][]*VM, key K, vm *VM) {
	old := m[key]
	i := slices.Index(old, vm)
	switch {
	case i < 0:
	case len(old) == 1:
		delete(m, key)
	default:
		m[key] = slices.Concat(old[:i], old[i+1:])
	}
}

// maxInterned bounds an interner. Few strings are shared by many VMs; the rest are left over from VMs long gone.
const maxInterned = 1 << 16

// interner stores equal strings once: every VM repeats the names of networks, hosts and guests. It is not safe for
// concurrent use.
type interner struct{ known map[string]string }

func (i *interner) text(s string) string {
	if s == "" {
		return ""
	}
	if one, ok := i.known[s]; ok {
		return one
	}
	if i.known == nil || len(i.known) >= maxInterned {
		i.known = map[string]string{}
	}
	i.known[s] = s
	return s
}

func (i *interner) ref(r types.ManagedObjectReference) types.ManagedObjectReference {
	r.Type, r.Value, r.ServerGUID = i.text(r.Type), i.text(r.Value), i.text(r.ServerGUID)
	return r
}

// The events after which tags are read at once. A vCenter has no other events about tags.
const (
	eventAttach = "com.vmware.cis.tagging.attach"
	eventDetach = "com.vmware.cis.tagging.detach"
)

// watchSpec returns the objects and properties that the index watches, and with tags the events. ComputeResource includes
// clusters, ResourcePool includes vApps.
func watchSpec(tags bool) vcenter.WatchSpec {
	above := []string{"name", "parent"}
	spec := vcenter.WatchSpec{
		Properties: map[string][]string{
			"VirtualMachine":  vmProperties[:],
			"HostSystem":      above,
			"ComputeResource": above,
			"ResourcePool":    above,
			"Folder":          above,
			"Datacenter":      above,
		},
		Related: map[string][]string{encodingPath: {metadataPath}},
	}
	if tags {
		spec.Events = []string{eventAttach, eventDetach}
	}
	return spec
}

// feed writes a watch into the index of its vCenter.
type feed struct{ *source }

var _ vcenter.EventHandler = feed{}

// Update implements [vcenter.Handler].
func (f feed) Update(batch []vcenter.Update) {
	x := f.index
	x.writing.Lock()
	defer x.writing.Unlock()
	synced := f.inSync()
	d := x.apply(batch, f.freshVMs(batch), synced)
	if synced && !d.empty() {
		f.changes.Notify(d)
	}
}

// freshVMs returns the new values of the VMs in the batch; nil for those that left. For many VMs this takes time, so it
// does not hold the lock that readers need.
func (f feed) freshVMs(batch []vcenter.Update) map[types.ManagedObjectReference]*VM {
	fresh := make(map[types.ManagedObjectReference]*VM, len(batch))
	for _, u := range batch {
		if u.Ref.Type != "VirtualMachine" {
			continue
		}
		if u.Kind == vcenter.Leave {
			fresh[u.Ref] = nil
			continue
		}
		old, again := fresh[u.Ref]
		if !again {
			old = f.index.vms[u.Ref]
		}
		if old == nil && u.Kind == vcenter.Modify {
			continue // its change came after it left
		}
		vm := &VM{VCenter: f.client.Name(), Ref: u.Ref}
		switch {
		case old == nil:
			vm.Ref.Type = f.index.strings.text(vm.Ref.Type)
		case u.Kind == vcenter.Modify:
			*vm = *old
		default:
			vm.Ref, vm.UUID = old.Ref, old.UUID
		}
		vm.apply(u.Changes, &f.index.strings, f.static)
		fresh[vm.Ref] = vm
	}
	return fresh
}

// Synced implements [vcenter.Handler].
func (f feed) Synced() {
	x := f.index
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	x.updateDatacenters()
	x.mu.Unlock()
	f.setSync(true, nil)
	f.changes.Notify(delta{everything: true})
}

// Lost implements [vcenter.Handler].
func (f feed) Lost(err error) {
	f.following.Store(false)
	had := f.inSync()
	f.setSync(false, err)
	if had {
		f.changes.Notify(delta{everything: true})
	}
}

// Following implements [vcenter.EventHandler].
func (f feed) Following(ok bool) { f.following.Store(ok) }

// EventsOccurred implements [vcenter.EventHandler].
func (f feed) EventsOccurred() { f.tagged.Notify(struct{}{}) }

// vmChange is the change of one VM; before is nil for a new VM, after for one that left.
type vmChange struct{ before, after *VM }

// delta is the effect of a batch of updates on an index.
type delta struct {
	steps      []vmChange
	everything bool
}

func (d delta) empty() bool { return len(d.steps) == 0 && !d.everything }

// apply applies a batch, with the values of its VMs, in one step. Before the index is in sync no caller relies on it, so
// that take does not compute what changed.
func (x *index) apply(batch []vcenter.Update, fresh map[types.ManagedObjectReference]*VM, synced bool) (d delta) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, u := range batch {
		if u.Ref.Type != "VirtualMachine" && x.updateEntity(u, synced && !d.everything) {
			d.everything = true
		}
	}
	for _, u := range batch {
		vm, notified := fresh[u.Ref]
		if !notified {
			continue
		}
		delete(fresh, u.Ref)
		old := x.vms[u.Ref]
		if vm == nil {
			x.leave(u.Ref)
			if old != nil {
				d.steps = append(d.steps, vmChange{before: old})
			}
			continue
		}
		if old != nil && sameVM(old, vm) && old.encoding == vm.encoding {
			continue
		}
		if synced {
			vm.dc = x.datacenterRefOf(vm)
		}
		x.put(vm)
		if old == nil || !sameVM(old, vm) {
			d.steps = append(d.steps, vmChange{old, vm})
		}
	}
	if d.everything {
		x.updateDatacenters()
	}
	return d
}

// Change is the effect of one batch of updates on the index of one vCenter. Changes that cancel each other out are omitted.
type Change struct {
	// VCenter is the vCenter's name.
	VCenter string
	// VMs are the new and changed VMs with their new values, and Left those that no longer exist with their last ones. If
	// datacenters are configured, VMs outside them are omitted, and a VM that moves out counts as left.
	VMs, Left []*VM
	// All reports that other VMs may be affected as well: the tags differ, an object above VMs was moved, added,
	// removed or renamed, or the index came into sync or lost it. While the index is not in sync, only this is reported.
	All bool
}

// change converts a delta for a member; false if it does not affect the member.
func (m *member) change(d delta) (c Change, ok bool) {
	c = Change{VCenter: m.client.Name(), All: d.everything}
	for _, s := range d.steps {
		was := s.before != nil && m.inside(s.before)
		switch {
		case s.after != nil && m.inside(s.after):
			c.VMs = append(c.VMs, s.after)
		case was:
			c.Left = append(c.Left, s.before)
		}
	}
	return c, c.All || len(c.VMs) > 0 || len(c.Left) > 0
}

// errEnded reports that the last holder released it, after which it cannot start again.
var errEnded = errors.New("has ended")

// sharedRun runs a function from the first hold until the last release.
type sharedRun struct {
	run func(context.Context) error

	mu      sync.Mutex
	holders int
	stop    context.CancelFunc // nil before the first hold
	done    chan struct{}      // closed when run has returned, with err
	err     error
}

// hold starts the function unless it runs. The caller must call release once.
func (h *sharedRun) hold(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop != nil && h.holders == 0 {
		return errEnded
	}
	h.holders++
	if h.stop != nil {
		return nil
	}
	// It may outlive its first holder.
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	h.done = make(chan struct{})
	go func() {
		defer close(h.done)
		if err := h.run(ctx); !errors.Is(err, context.Canceled) {
			h.err = err
		}
	}()
	return nil
}

// release stops the function and waits for it if no other holder is left.
func (h *sharedRun) release() error {
	h.mu.Lock()
	h.holders--
	last := h.holders == 0
	h.mu.Unlock()
	if !last {
		return nil
	}
	h.stop()
	<-h.done
	return h.err
}

// sameVM reports whether the exported fields of both VMs are equal.
func sameVM(a, b *VM) bool {
	return a.Ref == b.Ref && a.VCenter == b.VCenter &&
		a.Name == b.Name && a.UUID == b.UUID && a.InstanceUUID == b.InstanceUUID && a.GuestID == b.GuestID &&
		a.NumCPU == b.NumCPU && a.MemoryMB == b.MemoryMB && a.Template == b.Template &&
		a.HostName == b.HostName && slices.EqualFunc(a.Adapters, b.Adapters, sameAdapter) &&
		slices.Equal(a.Static, b.Static) && sameError(a.StaticErr, b.StaticErr) &&
		a.Power == b.Power && a.Connection == b.Connection &&
		a.Host == b.Host && a.ResourcePool == b.ResourcePool && a.Parent == b.Parent
}

func sameAdapter(a, b guest.Adapter) bool {
	return a.Network == b.Network && a.Virtual == b.Virtual && slices.Equal(a.Addresses, b.Addresses) && slices.Equal(a.Floating, b.Floating)
}

func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Error() == b.Error()
}
