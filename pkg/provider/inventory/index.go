package inventory

import (
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// maxDeparted bounds the memory of VMs that left. Losing one costs an extra check, not the confirmation.
const maxDeparted = 10000

// entity is what zones and datacenter paths need of an object above the VMs.
type entity struct {
	name   string
	parent types.ManagedObjectReference
}

// index holds one vCenter's objects. Slices in its maps are replaced, never changed, so that they can be handed out.
type index struct {
	mu       sync.RWMutex
	vms      map[types.ManagedObjectReference]*VM
	entities map[types.ManagedObjectReference]entity
	byUUID   map[UUID][]*VM
	byHost   map[string][]*VM
	byIP     map[netip.Addr][]*VM
	// departed remembers where a VM was that left the watch, for a direct question before it is called gone: a VM whose
	// datastore is lost leaves the search index and still exists (kubernetes/cloud-provider-vsphere#642).
	departed map[UUID]types.ManagedObjectReference
}

func newIndex() *index {
	return &index{
		vms:      map[types.ManagedObjectReference]*VM{},
		entities: map[types.ManagedObjectReference]entity{},
		byUUID:   map[UUID][]*VM{},
		byHost:   map[string][]*VM{},
		byIP:     map[netip.Addr][]*VM{},
		departed: map[UUID]types.ManagedObjectReference{},
	}
}

// put makes vm, a new value, the current state of its reference.
func (x *index) put(vm *VM) {
	x.drop(vm.Ref)
	x.vms[vm.Ref] = vm
	if vm.UUID != (UUID{}) {
		add(x.byUUID, vm.UUID, vm)
		delete(x.departed, vm.UUID)
	}
	for _, h := range vm.hostNames() {
		add(x.byHost, h, vm)
	}
	for _, ip := range vm.ips() {
		add(x.byIP, ip, vm)
	}
}

// drop removes the VM with the given reference, if there is one.
func (x *index) drop(ref types.ManagedObjectReference) *VM {
	vm := x.vms[ref]
	if vm == nil {
		return nil
	}
	delete(x.vms, ref)
	remove(x.byUUID, vm.UUID, vm)
	for _, h := range vm.hostNames() {
		remove(x.byHost, h, vm)
	}
	for _, ip := range vm.ips() {
		remove(x.byIP, ip, vm)
	}
	return vm
}

// leave drops a VM that the watch no longer sees.
func (x *index) leave(ref types.ManagedObjectReference) {
	vm := x.drop(ref)
	if vm == nil || vm.UUID == (UUID{}) || len(x.byUUID[vm.UUID]) > 0 {
		return
	}
	for u := range x.departed {
		if len(x.departed) < maxDeparted {
			break
		}
		delete(x.departed, u)
	}
	x.departed[vm.UUID] = ref
}

// uuid returns the VMs of the given UUID, in this byte order.
func (x *index) uuid(u UUID) []*VM {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byUUID[u]
}

func (x *index) host(folded string) []*VM {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byHost[folded]
}

func (x *index) ip(ip netip.Addr) []*VM {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byIP[ip]
}

// lastSeen returns the references under which a VM of this UUID, in either order, was last seen.
func (x *index) lastSeen(u UUID) []types.ManagedObjectReference {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var refs []types.ManagedObjectReference
	for _, u := range []UUID{u, u.Swapped()} {
		if ref, ok := x.departed[u]; ok {
			refs = append(refs, ref)
		}
	}
	return refs
}

// forget ends the memory of a departed VM, once it is known to be gone.
func (x *index) forget(u UUID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.departed, u)
	delete(x.departed, u.Swapped())
}

// above returns the chain of references from ref upward, ref included, to the last one known.
func (x *index) above(ref types.ManagedObjectReference) []types.ManagedObjectReference {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var chain []types.ManagedObjectReference
	// The bound is for a vCenter that tells a loop while things move.
	for ref.Value != "" && len(chain) < 256 {
		chain = append(chain, ref)
		ref = x.entities[ref].parent
	}
	return chain
}

// name returns an object's inventory name, or its reference while that is not known.
func (x *index) name(ref types.ManagedObjectReference) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if e, ok := x.entities[ref]; ok && e.name != "" {
		return e.name
	}
	if vm := x.vms[ref]; vm != nil {
		return vm.Name
	}
	return ref.Value
}

// datacenters returns the references of all datacenters, in a stable order.
func (x *index) datacenters() []types.ManagedObjectReference {
	x.mu.RLock()
	defer x.mu.RUnlock()
	refs := slices.DeleteFunc(slices.Collect(maps.Keys(x.entities)), func(r types.ManagedObjectReference) bool {
		return r.Type != "Datacenter"
	})
	slices.SortFunc(refs, func(a, b types.ManagedObjectReference) int {
		switch {
		case a.Value < b.Value:
			return -1
		case a.Value > b.Value:
			return 1
		}
		return 0
	})
	return refs
}

func add[K comparable](m map[K][]*VM, key K, vm *VM) {
	m[key] = append(slices.Clone(m[key]), vm)
}

func remove[K comparable](m map[K][]*VM, key K, vm *VM) {
	left := slices.DeleteFunc(slices.Clone(m[key]), func(other *VM) bool { return other == vm })
	if len(left) == 0 {
		delete(m, key)
		return
	}
	m[key] = left
}
