package inventory

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/vmware/govmomi/vim25/types"
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
