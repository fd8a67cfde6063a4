package faults

import (
	"context"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx"
)

// Targets lists what faults can be injected into. All fields are mandatory.
type Targets struct {
	VCenters   func() vcenters.List
	World      func() *world.World
	Tags       *vcenters.Tags
	Components func() []api.Component
	Volumes    func() []api.Volume
	// NodeName returns the name of a VM's Node.
	NodeName func(world.VM) string
	// NSX returns the NSX Manager, or nil.
	NSX func() *nsx.Manager
}

// objectTypes are the vSphere types of objects in one vCenter.
var objectTypes = map[fault.Object]string{
	fault.Host: "HostSystem", fault.Cluster: "ClusterComputeResource", fault.Datacenter: "Datacenter", fault.Datastore: "Datastore",
}

// Items implements [fault.Ground].Items.
func (t *Targets) Items(ctx context.Context, kind fault.Object) ([]fault.Item, error) {
	t.Tags.Update(ctx)
	switch kind {
	case fault.VM:
		return t.vms(), nil
	case fault.Node:
		return t.nodes(), nil
	case fault.Zone:
		return t.zones(), nil
	case fault.Component:
		return t.components(), nil
	case fault.Volume:
		return t.volumes(), nil
	case fault.NSX:
		if t.NSX() == nil {
			return nil, nil
		}
		return []fault.Item{{Kind: kind, Name: api.NSXName}}, nil
	}
	var items []fault.Item
	for _, vc := range t.VCenters() {
		if kind == fault.VCenter {
			items = append(items, fault.Item{Kind: kind, VCenter: vc.Name(), Name: vc.Name()})
			continue
		}
		for _, o := range vc.Inventory.Items(objectTypes[kind]) {
			items = append(items, fault.Item{
				Kind: kind, VCenter: vc.Name(), Name: o.Name, Path: o.Path, Ref: o.Ref,
				Datacenter: o.Datacenter, Cluster: o.Cluster, Host: o.Host, Region: o.Region, Zone: o.Zone,
			})
		}
	}
	return items, nil
}

func (t *Targets) vms() []fault.Item {
	vms := t.World().VMs()
	items := make([]fault.Item, len(vms))
	for i, v := range vms {
		items[i] = fault.Item{
			Kind: fault.VM, VCenter: v.VCenter, Name: v.Name, Path: v.Path, Ref: v.Ref,
			Datacenter: v.Datacenter, Cluster: v.Cluster, Host: v.Host, Region: v.Region, Zone: v.Zone, Role: v.Role,
		}
		if v.Role != "" {
			items[i].Node = t.NodeName(v)
		}
	}
	return items
}

// nodes returns the Nodes, each at the place of its VM.
func (t *Targets) nodes() []fault.Item {
	place := map[string]fault.Item{}
	for _, v := range t.vms() {
		if v.Node != "" {
			place[v.Node] = v
		}
	}
	var items []fault.Item
	for _, n := range t.World().Nodes() {
		item, ok := place[n.Name]
		if !ok {
			item = fault.Item{VCenter: n.VCenter, Datacenter: n.Datacenter, Region: n.Region, Zone: n.Zone}
		}
		item.Kind, item.Name, item.Node, item.Path, item.Ref = fault.Node, n.Name, n.Name, "", types.ManagedObjectReference{}
		items = append(items, item)
	}
	return items
}

func (t *Targets) zones() []fault.Item {
	var items []fault.Item
	for _, z := range t.World().Zones() {
		if z.Zone != "" {
			items = append(items, fault.Item{Kind: fault.Zone, Name: z.Zone, Region: z.Region, Zone: z.Zone})
		}
	}
	return items
}

func (t *Targets) components() []fault.Item {
	var items []fault.Item
	for _, c := range t.Components() {
		item := fault.Item{Kind: fault.Component, Name: c.Name}
		if node, ok := strings.CutPrefix(c.Name, "node/"); ok {
			item.Node = node
		}
		items = append(items, item)
	}
	return items
}

// volumes returns the volumes of CNS, each with its claim if it has one.
func (t *Targets) volumes() []fault.Item {
	claims := map[string]string{}
	for _, v := range t.Volumes() {
		if v.Handle != "" {
			claims[v.Handle] = v.Claim
		}
	}
	var items []fault.Item
	for _, vc := range t.VCenters() {
		for _, v := range vc.Volumes() {
			items = append(items, fault.Item{Kind: fault.Volume, VCenter: vc.Name(), Name: v.Name, ID: v.ID, Claim: claims[v.ID]})
		}
	}
	return items
}
