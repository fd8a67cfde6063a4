package corrections

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// FindByUuid returns one VM or host; if several have the UUID, always the same one.
func (c *Corrections) FindByUuid(ctx *simulator.Context, req *types.FindByUuid) soap.HasFault {
	all := c.byUUID(ctx, req.Datacenter, req.Uuid, req.VmSearch, req.InstanceUuid)
	return &methods.FindByUuidBody{Res: &types.FindByUuidResponse{Returnval: first(all)}}
}

// FindAllByUuid finds all VMs or hosts.
func (c *Corrections) FindAllByUuid(ctx *simulator.Context, req *types.FindAllByUuid) soap.HasFault {
	all := c.byUUID(ctx, req.Datacenter, req.Uuid, req.VmSearch, req.InstanceUuid)
	return &methods.FindAllByUuidBody{Res: &types.FindAllByUuidResponse{Returnval: all}}
}

// FindByDnsName finds one VM by the hostname that its guest reports, or one host by its DNS name.
func (c *Corrections) FindByDnsName(ctx *simulator.Context, req *types.FindByDnsName) soap.HasFault {
	all := c.byDNSName(ctx, req.Datacenter, req.DnsName, req.VmSearch)
	return &methods.FindByDnsNameBody{Res: &types.FindByDnsNameResponse{Returnval: first(all)}}
}

// FindAllByDnsName finds all of them.
func (c *Corrections) FindAllByDnsName(ctx *simulator.Context, req *types.FindAllByDnsName) soap.HasFault {
	all := c.byDNSName(ctx, req.Datacenter, req.DnsName, req.VmSearch)
	return &methods.FindAllByDnsNameBody{Res: &types.FindAllByDnsNameResponse{Returnval: all}}
}

// FindByIp finds one VM by any address of its guest, or one host by the address of a kernel interface.
func (c *Corrections) FindByIp(ctx *simulator.Context, req *types.FindByIp) soap.HasFault {
	all := c.byIP(ctx, req.Datacenter, req.Ip, req.VmSearch)
	return &methods.FindByIpBody{Res: &types.FindByIpResponse{Returnval: first(all)}}
}

// FindAllByIp finds all of them.
func (c *Corrections) FindAllByIp(ctx *simulator.Context, req *types.FindAllByIp) soap.HasFault {
	all := c.byIP(ctx, req.Datacenter, req.Ip, req.VmSearch)
	return &methods.FindAllByIpBody{Res: &types.FindAllByIpResponse{Returnval: all}}
}

// FindChild returns a child of an entity by name. vcsim reads lists and names without locks, and panics on a VM that is being
// created.
func (c *Corrections) FindChild(ctx *simulator.Context, req *types.FindChild) soap.HasFault {
	obj := ctx.Map.Get(req.Entity)
	if obj == nil {
		return &methods.FindChildBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.Entity})}
	}
	var below []vc.Ref
	ctx.WithLock(obj, func() { below = inside(obj) })
	body := &methods.FindChildBody{Res: new(types.FindChildResponse)}
	below = slices.DeleteFunc(below, func(ref vc.Ref) bool { return !c.named(ctx, ref, req.Name) })
	if visible := c.opts.Visible; visible != nil {
		below = slices.DeleteFunc(below, func(ref vc.Ref) bool { return !visible(ctx, ref) })
	}
	body.Res.Returnval = first(below)
	return body
}

// named reports whether an entity has a name.
func (c *Corrections) named(ctx *simulator.Context, ref vc.Ref, name string) bool {
	if is := c.Name(ref); is != "" || ref.Type == "VirtualMachine" { // a new VM has no name yet
		return is == name
	}
	return ctx.Map.FindByName(name, []vc.Ref{ref}) != nil // a network, whose name does not change
}

// inside copies the list of children of an entity whose lock is held.
func inside(obj mo.Reference) []vc.Ref {
	switch o := obj.(type) {
	case *simulator.Datacenter:
		return []vc.Ref{o.VmFolder, o.HostFolder, o.DatastoreFolder, o.NetworkFolder}
	case *simulator.Folder:
		return slices.Clone(o.ChildEntity)
	case *simulator.ResourcePool:
		return slices.Concat(o.ResourcePool.ResourcePool, o.Vm)
	case *simulator.VirtualApp:
		return slices.Concat(o.ResourcePool.ResourcePool, o.Vm)
	}
	if compute, ok := vc.Compute(obj); ok {
		below := slices.Clone(compute.Host)
		if compute.ResourcePool != nil {
			below = append(below, *compute.ResourcePool)
		}
		return below
	}
	return nil
}

func (c *Corrections) byUUID(ctx *simulator.Context, dc *vc.Ref, uuid string, vm bool, instance *bool) []vc.Ref {
	if !vm {
		return c.hosts(ctx, dc, func(h *simulator.HostSystem) bool {
			return h.Summary.Hardware != nil && equal(h.Summary.Hardware.Uuid, uuid)
		})
	}
	kind := byUUID
	if instance != nil && *instance {
		kind = byInstanceUUID
	}
	return c.seen(ctx, c.index.find(c.index.key(kind, uuid), dc))
}

func (c *Corrections) byDNSName(ctx *simulator.Context, dc *vc.Ref, name string, vm bool) []vc.Ref {
	if !vm {
		return c.hosts(ctx, dc, func(h *simulator.HostSystem) bool { return equal(h.Name, name) })
	}
	return c.seen(ctx, c.index.find(c.index.key(byDNSName, name), dc))
}

func (c *Corrections) byIP(ctx *simulator.Context, dc *vc.Ref, ip string, vm bool) []vc.Ref {
	if !vm {
		return c.hosts(ctx, dc, func(h *simulator.HostSystem) bool {
			return h.Config != nil && h.Config.Network != nil &&
				slices.ContainsFunc(h.Config.Network.Vnic, func(n types.HostVirtualNic) bool {
					return n.Spec.Ip != nil && equal(n.Spec.Ip.IpAddress, ip)
				})
		})
	}
	return c.seen(ctx, c.index.find(c.index.key(byIP, ip), dc))
}

// hosts iterates over all hosts: they are few, and rarely searched for.
func (c *Corrections) hosts(ctx *simulator.Context, dc *vc.Ref, match func(*simulator.HostSystem) bool) []vc.Ref {
	var found []vc.Ref
	for _, e := range ctx.Map.All("HostSystem") {
		h := e.(*simulator.HostSystem)
		if in, ok := vc.Datacenter(ctx.Map, h.Self); dc != nil && !c.opts.Stock.Has(stock.SearchScope) && (!ok || in != *dc) {
			continue
		}
		ctx.WithLock(h, func() {
			if match(h) {
				found = append(found, h.Self)
			}
		})
	}
	return c.seen(ctx, found)
}

// seen removes what the session may not see: a search in a datacenter that the user may not read finds nothing, without an error.
func (c *Corrections) seen(ctx *simulator.Context, found []vc.Ref) []vc.Ref {
	if visible := c.opts.Visible; visible != nil {
		found = slices.DeleteFunc(found, func(ref vc.Ref) bool { return !visible(ctx, ref) })
	}
	return sorted(found)
}

func equal(a, b string) bool { return b != "" && strings.EqualFold(a, strings.TrimSpace(b)) }

func sorted(refs []vc.Ref) []vc.Ref {
	slices.SortFunc(refs, func(a, b vc.Ref) int {
		// vm-9 before vm-10.
		return cmp.Or(cmp.Compare(len(a.Value), len(b.Value)), cmp.Compare(a.Value, b.Value))
	})
	return refs
}

func first(refs []vc.Ref) *vc.Ref {
	if len(refs) == 0 {
		return nil
	}
	return &refs[0]
}

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
