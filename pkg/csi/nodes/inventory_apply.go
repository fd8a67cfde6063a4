package nodes

import (
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// maxDeparted bounds departed. A lost entry costs the check of its reference, not the searches.
const maxDeparted = 10000

// watchSpec returns the objects and properties of an inventory. ComputeResource includes clusters, ResourcePool includes vApps.
func watchSpec(tags bool) vcenter.WatchSpec {
	above := []string{"name", "parent"}
	spec := vcenter.WatchSpec{Properties: map[string][]string{
		"VirtualMachine":  {"name", "parent", "resourcePool", "runtime.host", "summary.config.uuid", "summary.config.template"},
		"HostSystem":      {"name", "parent", "runtime.connectionState"},
		"ComputeResource": above,
		"ResourcePool":    above,
		"Folder":          above,
		"Datacenter":      above,
		"Datastore": {
			"name", "host", "customValue", "summary.url", "summary.capacity", "summary.freeSpace", "summary.accessible", "summary.maintenanceMode",
		},
	}}
	if tags {
		spec.Events = []string{"com.vmware.cis.tagging.attach", "com.vmware.cis.tagging.detach"}
	}
	return spec
}

// apply applies a batch of updates in one step, and reports whether a node may have moved, or may reach other datastores.
func (p *inventory) apply(batch []vcenter.Update) (moved bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range batch {
		switch u.Ref.Type {
		case "VirtualMachine":
			moved = p.applyVM(u) || moved
		case "Datastore":
			p.applyDatastore(u)
		default:
			moved = p.applyEntity(u) || moved
		}
	}
	return moved
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
		}
	}
	p.entities[u.Ref] = e
	return !known || e != old
}

func (p *inventory) applyDatastore(u vcenter.Update) {
	old := p.datastores[u.Ref]
	if u.Kind == vcenter.Leave {
		delete(p.datastores, u.Ref)
		return
	}
	if old == nil && u.Kind == vcenter.Modify {
		return
	}
	fresh := &datastore{ref: u.Ref}
	if u.Kind == vcenter.Modify {
		*fresh = *old
	}
	for _, c := range u.Changes {
		fresh.set(c)
	}
	p.datastores[u.Ref] = fresh
}

func (d *datastore) set(c types.PropertyChange) {
	switch c.Name {
	case "name":
		d.name, _ = c.Val.(string)
	case "summary.url":
		d.url, _ = c.Val.(string)
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
