package sandbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// faultGround is what faults happen to: the vCenters, the cluster and the processes of this sandbox.
func (s *Sandbox) faultGround() *fault.Ground {
	g := &fault.Ground{
		Items: s.items, Categories: s.desired.Topology().Spec.Categories, Speed: s.opts.Speed, Events: s.log,
	}
	for _, vc := range s.vcenters {
		endpoint := fault.Reach(vc.Client, vc.Simulator())
		endpoint.Front = vc.Endpoint
		g.VCenters = append(g.VCenters, endpoint)
	}
	if s.guarded() == nil {
		g.Processes, g.Host, g.Cluster = s.processes(), s.config.Host, kubernetesGround{s}
	}
	return g
}

// objectTypes are the vSphere types of what is an object of one vCenter.
var objectTypes = map[fault.Object]string{
	fault.Host: "HostSystem", fault.Cluster: "ClusterComputeResource", fault.Datacenter: "Datacenter", fault.Datastore: "Datastore",
}

// items is [fault.Ground.Items]: what the world shows now.
func (s *Sandbox) items(ctx context.Context, kind fault.Object) ([]fault.Item, error) {
	s.tags.Update(ctx)
	switch kind {
	case fault.VM:
		return s.vmItems(), nil
	case fault.Node:
		return s.nodeItems(), nil
	case fault.Zone:
		return s.zoneItems(), nil
	case fault.Component:
		return s.componentItems(), nil
	case fault.Volume:
		return s.volumeItems(), nil
	}
	var items []fault.Item
	for _, vc := range s.vcenters {
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

func (s *Sandbox) vmItems() []fault.Item {
	vms := s.world.VMs()
	items := make([]fault.Item, len(vms))
	for i, v := range vms {
		items[i] = fault.Item{
			Kind: fault.VM, VCenter: v.VCenter, Name: v.Name, Path: v.Path, Ref: v.Ref,
			Datacenter: v.Datacenter, Cluster: v.Cluster, Host: v.Host, Region: v.Region, Zone: v.Zone, Role: v.Role,
		}
		if v.Role != "" {
			items[i].Node = s.nodes.Name(v)
		}
	}
	return items
}

// nodeItems lists the nodes, each where its VM is.
func (s *Sandbox) nodeItems() []fault.Item {
	place := map[string]fault.Item{}
	for _, v := range s.vmItems() {
		if v.Node != "" {
			place[v.Node] = v
		}
	}
	var items []fault.Item
	for _, n := range s.world.Nodes() {
		item, ok := place[n.Name]
		if !ok {
			item = fault.Item{VCenter: n.VCenter, Datacenter: n.Datacenter, Region: n.Region, Zone: n.Zone}
		}
		item.Kind, item.Name, item.Node, item.Path, item.Ref = fault.Node, n.Name, n.Name, "", types.ManagedObjectReference{}
		items = append(items, item)
	}
	return items
}

func (s *Sandbox) zoneItems() []fault.Item {
	var items []fault.Item
	for _, z := range s.world.Zones() {
		if z.Zone != "" {
			items = append(items, fault.Item{Kind: fault.Zone, Name: z.Zone, Region: z.Region, Zone: z.Zone})
		}
	}
	return items
}

func (s *Sandbox) componentItems() []fault.Item {
	var items []fault.Item
	for _, c := range s.components.All() {
		item := fault.Item{Kind: fault.Component, Name: c.Name}
		if node, ok := strings.CutPrefix(c.Name, "node/"); ok {
			item.Node = node
		}
		items = append(items, item)
	}
	return items
}

// account implements [fault.Kubernetes.Account].
func (s *Sandbox) account(component string) (namespace, name string, err error) {
	if component == ccm.Component {
		return s.ccmPlace().Namespace, ccm.ServiceAccount, nil
	}
	if name := csi.AccountOf(component); name != "" {
		return objects.DefaultNamespace, name, nil
	}
	return "", "", fmt.Errorf("component %q: has no ServiceAccount", component)
}

// volumeItems lists the volumes that CNS knows, each with its claim, if Kubernetes has one for it.
func (s *Sandbox) volumeItems() []fault.Item {
	claims := map[string]string{}
	for _, v := range s.storage.Rows() {
		if v.Handle != "" {
			claims[v.Handle] = v.Claim
		}
	}
	var items []fault.Item
	for _, vc := range s.vcenters {
		for _, v := range vc.Volumes() {
			items = append(items, fault.Item{Kind: fault.Volume, VCenter: vc.Name(), Name: v.Name, ID: v.ID, Claim: claims[v.ID]})
		}
	}
	return items
}
