package faulttest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

type ref = types.ManagedObjectReference

// lister lists a ground's items through the API of its vCenters.
type lister struct {
	ground *fault.Ground
	roles  map[string]topology.Role // by vCenter and inventory path

	mu        *sync.Mutex
	hostnames map[string]string // of nodes, by vCenter and reference, as first seen: the name of a node does not change
}

func newLister(top *topology.Topology, g *fault.Ground) lister {
	l := lister{ground: g, roles: map[string]topology.Role{}, mu: &sync.Mutex{}, hostnames: map[string]string{}}
	for _, n := range top.Nodes() {
		l.roles[n.VCenter.Name+n.InventoryPath()] = n.VM.Role
	}
	return l
}

// items is [fault.Ground.Items].
func (w *World) items(ctx context.Context, kind fault.Object) ([]fault.Item, error) {
	switch kind {
	case fault.Component:
		return components(w.Ground.Processes), nil
	case fault.Node:
		return w.lister.nodes(ctx)
	case fault.Zone:
		return w.lister.zones(ctx)
	}
	var all []fault.Item
	for i := range w.Ground.VCenters {
		vc := &w.Ground.VCenters[i]
		if kind == fault.VCenter {
			all = append(all, fault.Item{Kind: kind, VCenter: vc.Name, Name: vc.Name})
			continue
		}
		if kind == fault.Volume {
			all = append(all, volumes(vc)...)
			continue
		}
		items, err := w.lister.objects(ctx, vc, kind)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	return all, nil
}

// volumes lists the volumes of a vCenter, by ID. They have no claims.
func volumes(vc *fault.Endpoint) []fault.Item {
	if vc.Sim == nil {
		return nil
	}
	var items []fault.Item
	for _, v := range vc.Sim.Volumes() {
		items = append(items, fault.Item{Kind: fault.Volume, VCenter: vc.Name, Name: v.Name, ID: v.ID})
	}
	return items
}

// managed maps the types of managed objects to kinds.
var managed = map[string]fault.Object{
	"VirtualMachine": fault.VM, "HostSystem": fault.Host, "ClusterComputeResource": fault.Cluster,
	"Datacenter": fault.Datacenter, "Datastore": fault.Datastore,
}

// objects lists a vCenter's objects of a kind, by path.
func (l lister) objects(ctx context.Context, vc *fault.Endpoint, kind fault.Object) ([]fault.Item, error) {
	inv, err := read(ctx, vc)
	if err != nil {
		return nil, fmt.Errorf("vcenter %q: %w", vc.Name, err)
	}
	region, err := attached(ctx, vc, l.ground.Categories.Region)
	if err != nil {
		return nil, err
	}
	zone, err := attached(ctx, vc, l.ground.Categories.Zone)
	if err != nil {
		return nil, err
	}
	var items []fault.Item
	for r := range inv.entities {
		if managed[r.Type] != kind {
			continue
		}
		host, isVM := inv.hosts[r]
		item := fault.Item{Kind: kind, VCenter: vc.Name, Name: inv.entities[r].Name, Path: inv.path(r), Ref: r}
		item.Region, item.Zone = inv.nearest(r, region), inv.nearest(r, zone)
		item.Datacenter = inv.above(r, "Datacenter")
		if isVM {
			item.Host, item.Cluster = inv.entities[host].Name, inv.above(host, "ClusterComputeResource")
			if role := l.roles[vc.Name+item.Path]; role != "" {
				item.Role, item.Node = string(role), cmp.Or(l.hostname(vc.Name, r, inv.hostnames[r]), strings.ToLower(item.Name))
			}
		} else {
			item.Cluster, item.Host = inv.above(r, "ClusterComputeResource"), inv.above(r, "HostSystem")
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b fault.Item) int { return strings.Compare(a.Path, b.Path) })
	return items, nil
}

func (l lister) hostname(vc string, r ref, now string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := vc + r.Value
	if l.hostnames[key] == "" {
		l.hostnames[key] = strings.ToLower(now)
	}
	return l.hostnames[key]
}

func (l lister) vms(ctx context.Context) ([]fault.Item, error) {
	var all []fault.Item
	for i := range l.ground.VCenters {
		items, err := l.objects(ctx, &l.ground.VCenters[i], fault.VM)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	return all, nil
}

// nodes lists the VMs that are nodes, as such.
func (l lister) nodes(ctx context.Context) ([]fault.Item, error) {
	vms, err := l.vms(ctx)
	var nodes []fault.Item
	for _, v := range vms {
		if v.Node != "" {
			v.Kind, v.Name, v.Path, v.Ref = fault.Node, v.Node, "", ref{}
			nodes = append(nodes, v)
		}
	}
	return nodes, err
}

// zones lists the zones of VMs.
func (l lister) zones(ctx context.Context) ([]fault.Item, error) {
	vms, err := l.vms(ctx)
	var zones []fault.Item
	for _, v := range vms {
		z := fault.Item{Kind: fault.Zone, Name: v.Zone, Region: v.Region, Zone: v.Zone}
		if v.Zone != "" && !slices.Contains(zones, z) {
			zones = append(zones, z)
		}
	}
	return zones, err
}

// inventory is the inventory of one vCenter.
type inventory struct {
	entities  map[ref]mo.ManagedEntity
	hosts     map[ref]ref    // of VMs
	hostnames map[ref]string // of VMs' guests
}

func read(ctx context.Context, vc *fault.Endpoint) (inventory, error) {
	inv := inventory{entities: map[ref]mo.ManagedEntity{}, hosts: map[ref]ref{}, hostnames: map[ref]string{}}
	return inv, vc.SOAP(ctx, func(ctx context.Context, c *vim25.Client) error {
		v, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, nil, true)
		if err != nil {
			return err
		}
		defer func() { _ = v.Destroy(ctx) }()
		var entities []mo.ManagedEntity
		if err := v.Retrieve(ctx, []string{"ManagedEntity"}, []string{"name", "parent"}, &entities); err != nil {
			return err
		}
		for _, e := range entities {
			inv.entities[e.Self] = e
		}
		var vms []mo.VirtualMachine
		if err := v.Retrieve(ctx, []string{"VirtualMachine"}, []string{"runtime.host", "guest.hostName"}, &vms); err != nil {
			return err
		}
		for _, vm := range vms {
			if vm.Runtime.Host != nil {
				inv.hosts[vm.Self] = *vm.Runtime.Host
			}
			if vm.Guest != nil {
				inv.hostnames[vm.Self] = vm.Guest.HostName
			}
		}
		return nil
	})
}

// ancestors lists the objects from r upward, r first, without the root folder.
func (i inventory) ancestors(r ref) []ref {
	var list []ref
	for {
		e, ok := i.entities[r]
		if !ok {
			return list
		}
		list = append(list, r)
		if e.Parent == nil {
			return list
		}
		r = *e.Parent
	}
}

func (i inventory) path(r ref) string {
	var names []string
	for _, a := range i.ancestors(r) {
		names = append(names, i.entities[a].Name)
	}
	slices.Reverse(names)
	return "/" + strings.Join(names, "/")
}

func (i inventory) above(r ref, kind string) string {
	for _, a := range i.ancestors(r) {
		if a.Type == kind {
			return i.entities[a].Name
		}
	}
	return ""
}

func (i inventory) nearest(r ref, tagged map[ref]string) string {
	for _, a := range i.ancestors(r) {
		if t, ok := tagged[a]; ok {
			return t
		}
	}
	return ""
}

// attached returns the tag of a category for each object that has one. It is empty without the category.
func attached(ctx context.Context, vc *fault.Endpoint, category string) (map[ref]string, error) {
	tagged := map[ref]string{}
	return tagged, vc.REST(ctx, func(ctx context.Context, c *rest.Client) error {
		m := tags.NewManager(c)
		categories, err := m.GetCategories(ctx)
		if err != nil || !slices.ContainsFunc(categories, func(c tags.Category) bool { return c.Name == category }) {
			return err
		}
		list, err := m.GetTagsForCategory(ctx, category)
		if err != nil || len(list) == 0 {
			return err
		}
		ids, names := make([]string, len(list)), map[string]string{}
		for i, t := range list {
			ids[i], names[t.ID] = t.ID, t.Name
		}
		objects, err := m.ListAttachedObjectsOnTags(ctx, ids)
		for _, o := range objects {
			for _, r := range o.ObjectIDs {
				tagged[r.Reference()] = names[o.TagID]
			}
		}
		return err
	})
}
