package inspect

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

type ref = types.ManagedObjectReference

// reader reads a vCenter: through its console, as an administrator would, not through the gate. It implements
// [explain.Inventory].
type reader struct {
	VCenter
	roles world.Roles
}

// Name implements [explain.Inventory].
func (a reader) Name() string { return a.Row.Name }

// vmProperties are what is read of a VM.
var vmProperties = []string{
	"name", "parent", "resourcePool", "guestHeartbeatStatus", "runtime.host", "runtime.powerState", "runtime.connectionState",
	"config.uuid", "config.instanceUuid", "config.template", "config.guestId", "config.hardware.numCPU", "config.hardware.memoryMB",
	"config.hardware.device", "guest.toolsRunningStatus", "guest.hostName", "guest.net",
}

// VMs implements [explain.Inventory].
func (a reader) VMs(ctx context.Context, w explain.Wanted) ([]explain.VMState, error) {
	seen := a.known(w)
	refs, err := a.search(ctx, w)
	if err != nil {
		return a.stale(seen, err), err
	}
	for _, v := range seen {
		if !slices.Contains(refs, v.Ref) {
			refs = append(refs, v.Ref)
		}
	}
	entities := map[ref]entity{}
	var found []explain.VMState
	for _, r := range refs {
		m, err := a.machine(ctx, r, entities)
		switch {
		case vcenter.Gone(err):
		case err != nil:
			return a.stale(seen, err), err
		default:
			found = append(found, m)
		}
	}
	a.tag(ctx, found, entities)
	return found, nil
}

// known are the VMs of the sandbox's own watch that are wanted.
func (a reader) known(w explain.Wanted) []world.VM {
	return slices.DeleteFunc(a.Inventory.VMs(), func(v world.VM) bool {
		return !slices.Contains(w.Names, v.Name) &&
			!slices.ContainsFunc(w.UUIDs, func(u string) bool { return strings.EqualFold(u, v.UUID) }) &&
			!slices.ContainsFunc(w.Hostnames, func(n string) bool {
				exactly, shortly := match.SameHostName(v.Hostname, n)
				return exactly || shortly
			}) &&
			!slices.ContainsFunc(w.Addresses, func(ip netip.Addr) bool { return slices.Contains(v.Addresses, ip.String()) })
	})
}

// search asks the vCenter's search index, as cloud providers do, for UUIDs in both byte orders and for names.
func (a reader) search(ctx context.Context, w explain.Wanted) (refs []ref, err error) {
	add := func(found []object.Reference, err error) error {
		for _, o := range found {
			if r := o.Reference(); !slices.Contains(refs, r) {
				refs = append(refs, r)
			}
		}
		return err
	}
	err = a.Client.Do(ctx, func(ctx context.Context, session *vcenter.Session) error {
		index := object.NewSearchIndex(session.Vim)
		for _, text := range w.UUIDs {
			u, err := match.ParseUUID(text)
			if err != nil {
				continue // no VM has it
			}
			for _, u := range []match.UUID{u, u.Swapped()} {
				if err := add(index.FindAllByUuid(ctx, nil, u.String(), true, new(bool))); err != nil {
					return err
				}
			}
		}
		for _, name := range w.Hostnames {
			if err := add(index.FindAllByDnsName(ctx, nil, name, true)); err != nil {
				return err
			}
		}
		for _, ip := range w.Addresses {
			if err := add(index.FindAllByIp(ctx, nil, ip.String(), true)); err != nil {
				return err
			}
		}
		return nil
	})
	return refs, err
}

// stale returns VMs as the watch reported them last.
func (a reader) stale(seen []world.VM, err error) (list []explain.VMState) {
	for _, v := range seen {
		list = append(list, explain.VMState{
			VCenter: v.VCenter, Ref: v.MoRef, Name: v.Name, Path: v.Path, UUID: v.UUID, Power: v.Power, Connection: v.Connection, Tools: v.Tools,
			Hostname: v.Hostname, Addresses: v.Addresses, CPUs: v.CPUs, MemoryMB: int(v.MemoryBytes >> 20), GuestID: v.GuestID, Disks: v.Disks,
			Host: v.Host, Role: a.roles.Role(v), Process: string(a.roles.Process(v)), Stale: err, TagsErr: err,
		})
	}
	return list
}

// machine reads one VM and everything above it.
func (a reader) machine(ctx context.Context, r ref, entities map[ref]entity) (explain.VMState, error) {
	var v mo.VirtualMachine
	if err := a.read(ctx, r, vmProperties, &v); err != nil {
		return explain.VMState{}, err
	}
	m := explain.VMState{
		VCenter: a.Row.Name, Ref: r.Value, Name: v.Name, Power: strings.ToLower(strings.TrimPrefix(string(v.Runtime.PowerState), "powered")),
		Connection: string(v.Runtime.ConnectionState),
	}
	if c := v.Config; c != nil {
		m.UUID, m.InstanceUUID, m.Template, m.GuestID = c.Uuid, c.InstanceUuid, c.Template, c.GuestId
		m.CPUs, m.MemoryMB, m.Disks = int(c.Hardware.NumCPU), int(c.Hardware.MemoryMB), world.Disks(c.Hardware.Device)
	}
	if g := v.Guest; g != nil {
		m.Tools = g.ToolsRunningStatus == string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
		m.Hostname = g.HostName
		for _, nic := range g.Net {
			for _, ip := range nic.IpAddress {
				if addr, err := netip.ParseAddr(ip); err == nil && !addr.IsLinkLocalUnicast() {
					m.Addresses = append(m.Addresses, ip)
				}
			}
		}
	}
	up := func(from *ref) (walk []explain.Object, err error) {
		const deepest = 64
		for at := from; at != nil && len(walk) < deepest; {
			e, err := a.entity(ctx, *at, entities)
			if err != nil {
				return nil, err
			}
			walk = append(walk, explain.Object{Type: at.Type, Name: e.name, Ref: at.Value})
			at = e.parent
		}
		return walk, nil
	}
	parent := v.Parent
	if parent == nil { // in a vApp
		parent = v.ResourcePool
	}
	entities[r] = entity{name: v.Name, parent: parent}
	var err error
	if m.FromHost, err = up(v.Runtime.Host); err != nil {
		return m, err
	}
	if m.FromPool, err = up(v.ResourcePool); err != nil {
		return m, err
	}
	if m.FromVM, err = up(&r); err != nil {
		return m, err
	}
	m.Path, m.Datacenter = paths(m.FromVM)
	if host := v.Runtime.Host; host != nil {
		var h mo.HostSystem
		if err := a.read(ctx, *host, []string{"name", "runtime.connectionState", "runtime.powerState", "runtime.inMaintenanceMode"}, &h); err != nil {
			return m, err
		}
		m.Host, m.HostConnection, m.HostPower, m.Maintenance = h.Name, string(h.Runtime.ConnectionState), string(h.Runtime.PowerState), h.Runtime.InMaintenanceMode
	}
	if v, ok := a.Inventory.VM(r); ok {
		m.Role, m.Process = a.roles.Role(v), string(a.roles.Process(v))
	}
	return m, nil
}

// entity is what is known of an object on the way up.
type entity struct {
	name   string
	parent *ref
}

// entity reads an object once.
func (a reader) entity(ctx context.Context, r ref, known map[ref]entity) (entity, error) {
	if e, ok := known[r]; ok {
		return e, nil
	}
	var me mo.ManagedEntity
	if err := a.read(ctx, r, []string{"name", "parent"}, &me); err != nil {
		return entity{}, err
	}
	known[r] = entity{name: me.Name, parent: me.Parent}
	return known[r], nil
}

// read reads properties of one object.
func (a reader) read(ctx context.Context, r ref, properties []string, into any) error {
	return a.Client.Do(ctx, func(ctx context.Context, session *vcenter.Session) error {
		return property.DefaultCollector(session.Vim).RetrieveOne(ctx, r, properties, into)
	})
}

// paths are the inventory paths of a VM and of its datacenter, from the walk up.
func paths(walk []explain.Object) (vm, datacenter string) {
	for i, o := range slices.Backward(walk) {
		if i == len(walk)-1 && o.Type == "Folder" {
			continue // the root
		}
		if vm += "/" + o.Name; o.Type == "Datacenter" {
			datacenter = vm
		}
	}
	return vm, datacenter
}

// Categories implements [explain.Inventory].
func (a reader) Categories(ctx context.Context) (names []string, err error) {
	err = a.Client.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error {
		list, err := tags.NewManager(rc).GetCategories(ctx)
		names = []string{}
		for _, c := range list {
			names = append(names, c.Name)
		}
		return err
	})
	return names, err
}

// tag adds to all objects on the ways up of VMs the tags that they have, or to the VMs why that is not known.
func (a reader) tag(ctx context.Context, list []explain.VMState, entities map[ref]entity) {
	refs := make([]ref, 0, len(entities))
	for r := range entities {
		refs = append(refs, r)
	}
	of, err := a.tagsOf(ctx, refs)
	for i := range list {
		m := &list[i]
		m.TagsErr = err
		for _, walk := range [][]explain.Object{m.FromHost, m.FromPool, m.FromVM} {
			for k, o := range walk {
				walk[k].Tags = of[ref{Type: o.Type, Value: o.Ref}]
			}
		}
	}
}

// tagsOf reads the tags of objects, with the names of their categories.
func (a reader) tagsOf(ctx context.Context, refs []ref) (map[ref][]explain.Tag, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	objects := make([]mo.Reference, len(refs))
	for i, r := range refs {
		objects[i] = r
	}
	of := map[ref][]explain.Tag{}
	err := a.Client.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error {
		m := tags.NewManager(rc)
		attached, err := m.GetAttachedTagsOnObjects(ctx, objects)
		if err != nil {
			return err
		}
		categories := map[string]string{}
		for _, o := range attached {
			for _, t := range o.Tags {
				if _, known := categories[t.CategoryID]; !known {
					c, err := m.GetCategory(ctx, t.CategoryID)
					if err != nil {
						return err
					}
					categories[t.CategoryID] = c.Name
				}
				r := o.ObjectID.Reference()
				of[r] = append(of[r], explain.Tag{Category: categories[t.CategoryID], Name: t.Name})
			}
		}
		return nil
	})
	return of, err
}
