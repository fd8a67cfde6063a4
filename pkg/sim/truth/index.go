package truth

import (
	"maps"
	"net/netip"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// key is a property by which a VM can be found.
type key struct {
	kind  keyKind
	value string
}

type keyKind uint8

const (
	byUUID keyKind = iota
	byInstanceUUID
	byDNSName
	byIP
)

// key folds the value as vCenter compares it.
func (x *index) key(kind keyKind, value string) key {
	if x.stock.Has(stock.SearchCase) && kind != byIP {
		return key{kind, value}
	}
	value = strings.ToLower(strings.TrimSpace(value))
	if a, err := netip.ParseAddr(value); kind == byIP && err == nil {
		value = a.String()
	}
	return key{kind, value}
}

// index finds VMs by their identities, in constant time and without their locks. It follows the registry, which calls it with the
// changing VM locked.
type index struct {
	ref   vc.Ref
	stock stock.Set

	mu    sync.Mutex
	byKey map[key]map[vc.Ref]struct{}
	vms   map[vc.Ref]indexed
}

type indexed struct {
	keys       []key
	datacenter vc.Ref
}

func newIndex(s stock.Set) *index {
	return &index{
		ref:   vc.Ref{Type: "SandboxIndex", Value: "sandbox-index"},
		stock: s,
		byKey: make(map[key]map[vc.Ref]struct{}),
		vms:   make(map[vc.Ref]indexed),
	}
}

func (x *index) fill(base *simulator.Context) {
	for _, e := range base.Map.All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		ctx := vc.Fresh(base)
		ctx.WithLock(vm, func() { x.put(ctx, &vm.VirtualMachine) })
	}
}

// find returns the VMs with the key, in the datacenter if one is given.
func (x *index) find(k key, datacenter *vc.Ref) []vc.Ref {
	if k.value == "" {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stock.Has(stock.SearchScope) {
		datacenter = nil
	}
	var found []vc.Ref
	for ref := range maps.Keys(x.byKey[k]) {
		if datacenter == nil || x.vms[ref].datacenter == *datacenter {
			found = append(found, ref)
		}
	}
	return found
}

// Reference implements simulator.RegisterObject.
func (x *index) Reference() vc.Ref { return x.ref }

// PutObject implements simulator.RegisterObject.
func (x *index) PutObject(ctx *simulator.Context, obj mo.Reference) {
	if vm, ok := obj.(*simulator.VirtualMachine); ok {
		x.put(ctx, &vm.VirtualMachine)
	}
}

// UpdateObject implements simulator.RegisterObject.
func (x *index) UpdateObject(ctx *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	vm, ok := obj.(*mo.VirtualMachine)
	if !ok {
		return
	}
	if !x.has(vm.Self) {
		return // destroyed: vcsim removes the devices from a VM that it has removed
	}
	for _, c := range changes {
		// vcsim sets config.uuid without an update, but reports config.modified after it.
		if strings.HasPrefix(c.Name, "guest") || strings.HasPrefix(c.Name, "config") || c.Name == "parent" {
			x.put(ctx, vm)
			return
		}
	}
}

// RemoveObject implements simulator.RegisterObject.
func (x *index) RemoveObject(_ *simulator.Context, ref vc.Ref) {
	if ref.Type != "VirtualMachine" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(ref)
}

func (x *index) has(ref vc.Ref) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, ok := x.vms[ref]
	return ok
}

func (x *index) remove(ref vc.Ref) {
	for _, k := range x.vms[ref].keys {
		if delete(x.byKey[k], ref); len(x.byKey[k]) == 0 {
			delete(x.byKey, k)
		}
	}
	delete(x.vms, ref)
}

// put indexes the VM, whose lock is held.
func (x *index) put(ctx *simulator.Context, vm *mo.VirtualMachine) {
	entry := indexed{keys: x.keys(vm)}
	if vm.Parent != nil {
		entry.datacenter, _ = vc.Datacenter(ctx.Map, *vm.Parent)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(vm.Self)
	x.vms[vm.Self] = entry
	for _, k := range entry.keys {
		if x.byKey[k] == nil {
			x.byKey[k] = make(map[vc.Ref]struct{})
		}
		x.byKey[k][vm.Self] = struct{}{}
	}
}

func (x *index) keys(vm *mo.VirtualMachine) []key {
	var all []key
	add := func(kind keyKind, value string) {
		if value != "" {
			all = append(all, x.key(kind, value))
		}
	}
	if vm.Config != nil {
		add(byUUID, vm.Config.Uuid)
		add(byInstanceUUID, vm.Config.InstanceUuid)
	}
	if vm.Guest != nil {
		add(byDNSName, vm.Guest.HostName)
		add(byIP, vm.Guest.IpAddress)
		for _, nic := range vm.Guest.Net {
			if x.stock.Has(stock.SearchAddresses) {
				break
			}
			for _, ip := range nic.IpAddress {
				add(byIP, ip)
			}
		}
	}
	return all
}
