package nodes

import (
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// ref is a managed object of one vCenter.
type ref = types.ManagedObjectReference

// maxDepth bounds a walk upward: a vCenter may report a loop while objects move.
const maxDepth = 256

// inventory is the state of one vCenter. Values in its maps are replaced, never modified, so that callers may keep them.
type inventory struct {
	mu         sync.RWMutex
	vms        map[ref]*vm
	byUUID     map[match.UUID][]*vm
	unknown    map[ref]*vm // VMs without a known UUID
	departed   map[match.UUID]ref
	entities   map[ref]entity
	datastores map[ref]*datastore
}

type vm struct {
	ref                ref
	name               string
	uuid               match.UUID // zero while the vCenter has reported none
	template           bool
	host, parent, pool ref // zero when unknown
}

// entity is an object above the VMs.
type entity struct {
	name         string
	parent       ref
	disconnected bool // of a host: not connected, so that its last state may be outdated
	maintenance  bool // of a host: in maintenance mode, so that it runs no VM
}

// datastore is one datastore and the hosts that mount it.
type datastore struct {
	ref            ref
	name, url      string
	kind           string // "vsan", "VMFS" …
	capacity, free int64  // bytes
	accessible     bool
	maintenance    string // "normal" for none
	suspended      bool   // marked to get no new volumes
	mounts         map[ref]mount
}

// mount is a host's side of a datastore.
type mount struct {
	accessible bool
	reason     string // why not accessible
	readOnly   bool
}

func newInventory() *inventory {
	return &inventory{
		vms:        map[ref]*vm{},
		byUUID:     map[match.UUID][]*vm{},
		unknown:    map[ref]*vm{},
		departed:   map[match.UUID]ref{},
		entities:   map[ref]entity{},
		datastores: map[ref]*datastore{},
	}
}

// find returns the VMs with a BIOS UUID in the given byte order.
func (p *inventory) find(u match.UUID) []*vm {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.byUUID[u]
}

// name returns an object's inventory name, or its reference if the name is unknown. The lock is held.
func (p *inventory) name(r ref) string {
	if e, ok := p.entities[r]; ok && e.name != "" {
		return e.name
	}
	if v := p.vms[r]; v != nil {
		return v.name
	}
	return r.Value
}

// up returns the object above r: for a VM its folder or, in a vApp, its pool. The lock is held.
func (p *inventory) up(r ref) ref {
	if v := p.vms[r]; v != nil {
		if v.parent.Value != "" {
			return v.parent
		}
		return v.pool
	}
	return p.entities[r].parent
}

// datacenter returns the datacenter of a VM. The lock is held.
func (p *inventory) datacenter(v *vm) (dc ref, ok bool) {
	for _, start := range [...]ref{v.parent, v.host, v.pool} {
		for r, n := start, 0; r.Value != "" && n < maxDepth; r, n = p.up(r), n+1 {
			if r.Type == "Datacenter" {
				return r, true
			}
		}
	}
	return ref{}, false
}

// inside reports whether a VM is in one of the datacenters; true without any.
func (p *inventory) inside(v *vm, datacenters []string) bool {
	if len(datacenters) == 0 {
		return true
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	dc, ok := p.datacenter(v)
	return ok && slices.ContainsFunc(datacenters, func(want string) bool { return p.matchesDatacenter(dc, want) })
}

// scope returns the configured datacenters, or all if none are configured, and the configured ones that do not exist.
func (p *inventory) scope(configured []string) (found []ref, missing []string) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	have := map[string]bool{}
	for r := range p.entities {
		if r.Type != "Datacenter" {
			continue
		}
		wanted := len(configured) == 0
		for _, want := range configured {
			if p.matchesDatacenter(r, want) {
				wanted, have[want] = true, true
			}
		}
		if wanted {
			found = append(found, r)
		}
	}
	for _, want := range configured {
		if !have[want] {
			missing = append(missing, want)
		}
	}
	return found, missing
}

// matchesDatacenter reports whether want, a name, an inventory path or a reference, identifies the datacenter. The lock is held.
func (p *inventory) matchesDatacenter(dc ref, want string) bool {
	switch {
	case want == dc.String():
		return true
	case strings.Contains(want, "/"):
		path := ""
		for r, n := dc, 0; n < maxDepth; n++ {
			e, ok := p.entities[r]
			if !ok {
				break
			}
			path, r = "/"+e.name+path, e.parent
		}
		return strings.Trim(want, "/") == strings.Trim(path, "/") // the root folder is not watched
	}
	return want == p.entities[dc].name
}

// unidentified returns a VM whose UUID is not known, or nil.
func (p *inventory) unidentified() (found *vm) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, v := range p.unknown {
		if found == nil || v.ref.Value < found.ref.Value {
			found = v
		}
	}
	return found
}

// maxDeparted bounds departed. A lost entry costs the check of its reference, not the searches.
const maxDeparted = 10000

// watchSpec returns the objects and properties of an inventory. ComputeResource includes clusters, ResourcePool includes vApps.
func watchSpec(tags bool) vcenter.WatchSpec {
	above := []string{"name", "parent"}
	spec := vcenter.WatchSpec{Properties: map[string][]string{
		"VirtualMachine":  {"name", "parent", "resourcePool", "runtime.host", "summary.config.uuid", "summary.config.template"},
		"HostSystem":      {"name", "parent", "runtime.connectionState", "runtime.inMaintenanceMode"},
		"ComputeResource": above,
		"ResourcePool":    above,
		"Folder":          above,
		"Datacenter":      above,
		"Datastore": {
			"name", "host", "customValue", "summary.url", "summary.type", "summary.capacity", "summary.freeSpace", "summary.accessible", "summary.maintenanceMode",
		},
	}}
	if tags {
		spec.Events = []string{"com.vmware.cis.tagging.attach", "com.vmware.cis.tagging.detach"}
	}
	return spec
}

// apply applies a batch of updates in one step. moved reports whether a node may have moved, or may reach other datastores; reach
// whether a datastore is reached that was not, or the other way round.
func (p *inventory) apply(batch []vcenter.Update) (moved, reach bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range batch {
		switch u.Ref.Type {
		case "VirtualMachine":
			moved = p.applyVM(u) || moved
		case "Datastore":
			reach = p.applyDatastore(u) || reach
		default:
			moved = p.applyEntity(u) || moved
		}
	}
	return moved, reach
}

func (p *inventory) applyVM(u vcenter.Update) (moved bool) {
	old := p.vms[u.Ref]
	if u.Kind == vcenter.Leave {
		p.drop(old)
		if old != nil && old.uuid != (match.UUID{}) && len(p.departed) < maxDeparted {
			p.departed[old.uuid] = old.ref
		}
		return old != nil
	}
	if old == nil && u.Kind == vcenter.Modify {
		return false // its change came after it left
	}
	fresh := &vm{ref: u.Ref}
	switch {
	case old == nil:
	case u.Kind == vcenter.Modify:
		*fresh = *old
	default:
		fresh.uuid = old.uuid
	}
	for _, c := range u.Changes {
		fresh.set(c)
	}
	if old != nil && *old == *fresh {
		return false
	}
	p.drop(old)
	p.vms[fresh.ref] = fresh
	if fresh.uuid == (match.UUID{}) {
		p.unknown[fresh.ref] = fresh
	} else {
		p.byUUID[fresh.uuid] = append(slices.Clone(p.byUUID[fresh.uuid]), fresh)
		delete(p.departed, fresh.uuid)
	}
	return true
}

func (v *vm) set(c types.PropertyChange) {
	switch c.Name {
	case "name":
		v.name, _ = c.Val.(string)
	case "parent":
		v.parent, _ = c.Val.(ref)
	case "resourcePool":
		v.pool, _ = c.Val.(ref)
	case "runtime.host":
		v.host, _ = c.Val.(ref)
	case "summary.config.template":
		v.template, _ = c.Val.(bool)
	case "summary.config.uuid":
		// A VM keeps its UUID for life; during a failover a vCenter may report a blank one for seconds
		// (kubernetes/cloud-provider-vsphere#521).
		s, _ := c.Val.(string)
		if u, err := match.ParseUUID(s); err == nil {
			v.uuid = u
		}
	}
}

// drop removes a VM, which may be nil. The lock is held.
func (p *inventory) drop(v *vm) {
	if v == nil {
		return
	}
	delete(p.vms, v.ref)
	delete(p.unknown, v.ref)
	rest := slices.DeleteFunc(slices.Clone(p.byUUID[v.uuid]), func(o *vm) bool { return o == v })
	if len(rest) == 0 {
		delete(p.byUUID, v.uuid)
	} else {
		p.byUUID[v.uuid] = rest
	}
}

func (p *inventory) applyEntity(u vcenter.Update) (moved bool) {
	old, known := p.entities[u.Ref]
	if u.Kind == vcenter.Leave {
		delete(p.entities, u.Ref)
		return known
	}
	var e entity
	if u.Kind == vcenter.Modify {
		e = old
	}
	for _, c := range u.Changes {
		switch c.Name {
		case "name":
			e.name, _ = c.Val.(string)
		case "parent":
			e.parent, _ = c.Val.(ref)
		case "runtime.connectionState":
			state, ok := c.Val.(types.HostSystemConnectionState)
			e.disconnected = ok && state != types.HostSystemConnectionStateConnected
		case "runtime.inMaintenanceMode":
			e.maintenance, _ = c.Val.(bool)
		}
	}
	p.entities[u.Ref] = e
	return !known || e != old
}

func (p *inventory) applyDatastore(u vcenter.Update) (reach bool) {
	old := p.datastores[u.Ref]
	if u.Kind == vcenter.Leave {
		delete(p.datastores, u.Ref)
		return old != nil
	}
	if old == nil && u.Kind == vcenter.Modify {
		return false
	}
	fresh := &datastore{ref: u.Ref}
	if u.Kind == vcenter.Modify {
		*fresh = *old
	}
	for _, c := range u.Changes {
		fresh.set(c)
	}
	p.datastores[u.Ref] = fresh
	return old != nil && old.reached() != fresh.reached()
}

// reached reports whether a host reaches the datastore, so that its volumes are usable.
func (d *datastore) reached() bool {
	for _, m := range d.mounts {
		if m.accessible {
			return d.accessible
		}
	}
	return false
}

func (d *datastore) set(c types.PropertyChange) {
	switch c.Name {
	case "name":
		d.name, _ = c.Val.(string)
	case "summary.url":
		d.url, _ = c.Val.(string)
	case "summary.type":
		d.kind, _ = c.Val.(string)
	case "summary.capacity":
		d.capacity, _ = c.Val.(int64)
	case "summary.freeSpace":
		d.free, _ = c.Val.(int64)
	case "summary.accessible":
		d.accessible, _ = c.Val.(bool)
	case "summary.maintenanceMode":
		d.maintenance, _ = c.Val.(string)
	case "customValue":
		d.suspended = suspended(c.Val)
	case "host":
		d.mounts = mounts(c.Val)
	}
}

// suspendedValue is the value of any custom attribute that suspends a datastore for CNS (upstream
// pkg/common/cns-lib/vsphere/utils.go).
const suspendedValue = "cns.vmware.com/datastoreSuspended"

func suspended(value types.AnyType) bool {
	var all []types.BaseCustomFieldValue
	switch v := value.(type) {
	case types.ArrayOfCustomFieldValue:
		all = v.CustomFieldValue
	case []types.BaseCustomFieldValue:
		all = v
	}
	return slices.ContainsFunc(all, func(v types.BaseCustomFieldValue) bool {
		s, ok := v.(*types.CustomFieldStringValue)
		return ok && s.Value == suspendedValue
	})
}

// mounts returns the hosts that mount the datastore.
func mounts(value types.AnyType) map[ref]mount {
	var all []types.DatastoreHostMount
	switch v := value.(type) {
	case types.ArrayOfDatastoreHostMount:
		all = v.DatastoreHostMount
	case []types.DatastoreHostMount:
		all = v
	}
	m := make(map[ref]mount, len(all))
	for _, h := range all {
		info := h.MountInfo
		if info.Mounted != nil && !*info.Mounted {
			continue
		}
		m[h.Key] = mount{
			accessible: info.Accessible == nil || *info.Accessible,
			reason:     info.InaccessibleReason,
			readOnly:   info.AccessMode == string(types.HostMountModeReadOnly),
		}
	}
	return m
}
