package world

import (
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// World is every inventory and every node. Make it with [New]; its methods may be called from any goroutine.
type World struct {
	inventories []*Inventory
	roles       Roles

	mu    sync.RWMutex
	nodes map[string]*corev1.Node
}

// Roles returns the role of a VM in the cluster ("" for a VM that is no node), and the state of its kubelet.
type Roles interface {
	Role(VM) string
	Process(VM) node.Process
}

// New returns a world of the given inventories, in the order in which listings show them.
func New(roles Roles, inventories ...*Inventory) *World {
	return &World{inventories: inventories, roles: roles, nodes: map[string]*corev1.Node{}}
}

// SetNode sets a Node object.
func (w *World) SetNode(n *corev1.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes[n.Name] = n
}

// DeleteNode removes a Node object.
func (w *World) DeleteNode(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.nodes, name)
}

// VMs lists every VM with its role and process.
func (w *World) VMs() []VM {
	var vms []VM
	for _, i := range w.inventories {
		for _, v := range i.VMs() {
			if v.Role = w.roles.Role(v); v.Role != "" {
				v.Process = string(w.roles.Process(v))
			}
			vms = append(vms, v)
		}
	}
	return vms
}

// Hosts lists every host.
func (w *World) Hosts() []api.Host {
	hosts := []api.Host{}
	for _, i := range w.inventories {
		hosts = append(hosts, i.Hosts()...)
	}
	return hosts
}

// Datacenters lists every datacenter.
func (w *World) Datacenters() []api.Datacenter {
	nodes := map[[2]string]int{}
	for _, n := range w.Nodes() {
		if n.Registered {
			nodes[[2]string{n.VCenter, n.Datacenter}]++
		}
	}
	dcs := []api.Datacenter{}
	for _, i := range w.inventories {
		for _, dc := range i.Datacenters() {
			dc.Nodes = nodes[[2]string{dc.VCenter, dc.Name}]
			dcs = append(dcs, dc)
		}
	}
	return dcs
}

// Nodes lists every node joined with its VM: first those of VMs, in the VMs' order, then nodes of which no VM is known.
func (w *World) Nodes() []api.Node {
	w.mu.RLock()
	nodes := maps.Clone(w.nodes)
	w.mu.RUnlock()
	vms := w.VMs()
	on := nodesOn(vms, nodes)
	unclaimed, named := maps.Clone(nodes), map[string]bool{}

	// What is left of VMs that no node runs on is no further node of a name.
	rows := []api.Node{}
	for _, v := range vms {
		n := on[v.Key()]
		if n == nil && v.Role == "" {
			continue
		}
		row := api.Node{Name: strings.ToLower(v.Hostname)}
		if row.Name == "" {
			row.Name = strings.ToLower(v.Name)
		}
		if n != nil {
			row = NodeRow(n)
			delete(unclaimed, n.Name)
		} else if _, registered := nodes[row.Name]; registered || named[row.Name] {
			continue
		} else {
			named[row.Name] = true
		}
		row.VM, row.VCenter, row.Datacenter, row.Power = v.Name, v.VCenter, v.Datacenter, v.Power
		rows = append(rows, row)
	}
	var strangers []api.Node
	for _, n := range unclaimed {
		strangers = append(strangers, NodeRow(n))
	}
	slices.SortFunc(strangers, func(a, b api.Node) int { return strings.Compare(a.Name, b.Name) })
	return append(rows, strangers...)
}

// nodesOn returns the node that runs on each VM. Of several, it is the one of the surest key: the key in the byte order of the VM,
// the first in the order of [match.Find], the first by name.
func nodesOn(vms []VM, nodes map[string]*corev1.Node) map[VMKey]*corev1.Node {
	byKey := map[string][]VM{}
	for _, v := range vms {
		for _, key := range v.Facts().Keys() {
			byKey[key] = append(byKey[key], v)
		}
	}
	order := []match.By{match.ByProviderID, match.BySystemUUID, match.ByHostName, match.ByAddress}
	on, sureness := map[VMKey]*corev1.Node{}, map[VMKey]int{}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		a := Match(kubenode.Facts(nodes[name]), func(key string) []VM { return byKey[key] })
		if a.Reason != match.Found {
			continue
		}
		rank := slices.Index(order, a.By)
		if a.Swapped {
			rank += len(order)
		}
		if key := a.VM.Key(); on[key] == nil || rank < sureness[key] {
			on[key], sureness[key] = nodes[name], rank
		}
	}
	return on
}

// Match returns the VM that a node runs on, as the cloud provider finds it. VMs returns those with one of its keys.
func Match(n match.Node, vms func(key string) []VM) match.Answer[VM] {
	var list []VM
	for _, key := range n.Keys() {
		for _, v := range vms(key) {
			if !slices.ContainsFunc(list, func(other VM) bool { return other.Key() == v.Key() }) {
				list = append(list, v)
			}
		}
	}
	return match.Find(n, match.List[VM]{VMs: list}, match.Behavior{})
}

// Zones lists the failure domains that VMs are in or nodes are labeled with.
func (w *World) Zones() []api.Zone {
	zones := map[[2]string]*api.Zone{}
	zone := func(region, name string) *api.Zone {
		key := [2]string{region, name}
		if zones[key] == nil {
			zones[key] = &api.Zone{Region: region, Zone: name, Datacenters: []string{}}
		}
		return zones[key]
	}
	for _, v := range w.VMs() {
		if v.Region == "" && v.Zone == "" {
			continue
		}
		z := zone(v.Region, v.Zone)
		z.VMs++
		if dc := v.VCenter + "/" + v.Datacenter; !slices.Contains(z.Datacenters, dc) {
			z.Datacenters = append(z.Datacenters, dc)
		}
	}
	for _, n := range w.Nodes() {
		if n.Region == "" && n.Zone == "" {
			continue
		}
		z := zone(n.Region, n.Zone)
		z.Nodes++
		if n.Ready == string(corev1.ConditionTrue) {
			z.ReadyNodes++
		}
	}
	list := make([]api.Zone, 0, len(zones))
	for _, z := range zones {
		list = append(list, *z)
	}
	slices.SortFunc(list, func(a, b api.Zone) int {
		return compareOr(strings.Compare(a.Region, b.Region), strings.Compare(a.Zone, b.Zone))
	})
	return list
}

// Count sums the nodes up.
func (w *World) Count() api.NodeCount {
	var c api.NodeCount
	for _, v := range w.VMs() {
		if v.Role != "" {
			c.Wanted++
		}
	}
	for _, n := range w.Nodes() {
		if !n.Registered {
			continue
		}
		c.Registered++
		if n.Initialized {
			c.Initialized++
		}
		if n.Ready == string(corev1.ConditionTrue) {
			c.Ready++
		}
	}
	return c
}
