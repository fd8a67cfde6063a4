package watchcache

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// nodes joins nodes with their VMs as [world.World.Nodes] does, one change at a time. The lock of the table guards it.
type nodes struct {
	vms    map[world.VMKey]api.VM
	byUUID map[string][]world.VMKey // VMs
	nodes  map[string]nodeRow
	claims map[string][]string // names of nodes by UUIDs that they have
	// wanted are the rows of VMs that should be nodes and are none: their names by VM, and the VM by name.
	wanted map[world.VMKey]string
	owner  map[string]world.VMKey
}

// nodeRow is a node, and the UUIDs that it may have its VM by, the surest first.
type nodeRow struct {
	api.Node
	uuids []string
}

func (n *nodes) open() {
	if n.vms == nil {
		n.vms, n.byUUID, n.nodes, n.claims = map[world.VMKey]api.VM{}, map[string][]world.VMKey{}, map[string]nodeRow{}, map[string][]string{}
		n.wanted, n.owner = map[world.VMKey]string{}, map[string]world.VMKey{}
	}
}

// SetVM sets the row of a VM, or drops it when the VM does not exist.
func (c *Cache) SetVM(v world.VM) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.nodes
	n.open()
	key := v.Key()
	row := "vm/" + key.VCenter + "/" + key.Ref.Value
	old, was := n.vms[key]
	before, after := strings.ToLower(old.UUID), strings.ToLower(v.UUID)
	if was && (before != after || !v.Exists) {
		n.byUUID[before] = without(n.byUUID[before], key)
	}
	if !v.Exists {
		delete(n.vms, key)
		c.drop(row)
	} else {
		n.vms[key] = v.VM
		if after != "" && (!was || before != after) {
			n.byUUID[after] = append(n.byUUID[after], key)
		}
		c.set(row, api.Update{VM: &v.VM})
	}
	for _, id := range []string{before, after} {
		for _, name := range n.claims[id] {
			c.join(name)
		}
	}
	c.want(key)
}

// SetNode sets the row of a Node object, as [world.NodeRow] and [world.UUIDs] have it.
func (c *Cache) SetNode(row api.Node, uuids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.nodes
	n.open()
	touched := c.unclaim(row.Name)
	now := nodeRow{Node: row}
	for _, id := range uuids {
		now.uuids = append(now.uuids, id)
		n.claims[id] = append(n.claims[id], row.Name)
	}
	n.nodes[row.Name] = now
	if key, ok := n.owner[row.Name]; ok { // the row is the node's now
		delete(n.owner, row.Name)
		delete(n.wanted, key)
	}
	c.join(row.Name)
	c.wantAll(append(touched, now.uuids...))
}

// DeleteNode drops the row of a Node object. If its VM is there, the VM should be a node and keeps a row.
func (c *Cache) DeleteNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	touched := c.unclaim(name)
	delete(c.nodes.nodes, name)
	c.wantAll(touched)
	if _, ok := c.nodes.owner[name]; !ok {
		c.drop("node/" + name)
	}
}

// unclaim forgets the UUIDs of a node, and returns them.
func (c *Cache) unclaim(name string) []string {
	n := &c.nodes
	uuids := n.nodes[name].uuids
	for _, id := range uuids {
		n.claims[id] = without(n.claims[id], name)
	}
	return slices.Clone(uuids)
}

// VMs returns the VMs that have one of these UUIDs, in lower case.
func (c *Cache) VMs(ids []string) (keys []world.VMKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		for _, key := range c.nodes.byUUID[id] {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// join sets the row of a node, with what its VM adds to it.
func (c *Cache) join(name string) {
	n := &c.nodes
	row := n.nodes[name]
	for _, id := range row.uuids {
		if keys := n.byUUID[id]; len(keys) > 0 {
			v := n.vms[keys[0]]
			row.VM, row.VCenter, row.Datacenter, row.Power = v.Name, v.VCenter, v.Datacenter, v.Power
			break
		}
	}
	row.Pods = c.pods.count[name]
	c.set("node/"+name, api.Update{Node: &row.Node})
}

func (c *Cache) wantAll(uuids []string) {
	for _, id := range uuids {
		for _, key := range slices.Clone(c.nodes.byUUID[id]) {
			c.want(key)
		}
	}
}

// want keeps the row of a VM that should be a node and is none.
func (c *Cache) want(key world.VMKey) {
	n := &c.nodes
	v, exists := n.vms[key]
	name := strings.ToLower(v.Hostname)
	if name == "" {
		name = strings.ToLower(v.Name)
	}
	_, taken := n.nodes[name]
	if owner, ok := n.owner[name]; ok && owner != key {
		taken = true
	}
	wanted := exists && v.Role != "" && len(n.claims[strings.ToLower(v.UUID)]) == 0 && !taken
	if was, had := n.wanted[key]; had && (!wanted || was != name) {
		delete(n.wanted, key)
		delete(n.owner, was)
		c.drop("node/" + was)
	}
	if wanted {
		n.wanted[key], n.owner[name] = name, key
		c.set("node/"+name, api.Update{Node: &api.Node{
			Name: name, VM: v.Name, VCenter: v.VCenter, Datacenter: v.Datacenter, Power: v.Power,
		}})
	}
}

func without[T comparable](list []T, gone T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(v T) bool { return v == gone })
}

// podCounts counts the pods of nodes that have not ended. The lock of the table guards it.
type podCounts struct {
	node  map[string]string // by pod, namespace/name
	count map[string]int    // by node
}

// place says where a pod is, "" for nowhere, and returns the nodes whose count has changed.
func (p *podCounts) place(pod, node string) (changed []string) {
	if p.node == nil {
		p.node, p.count = map[string]string{}, map[string]int{}
	}
	was := p.node[pod]
	if was == node {
		return nil
	}
	if was != "" {
		if p.count[was]--; p.count[was] == 0 {
			delete(p.count, was)
		}
		delete(p.node, pod)
		changed = append(changed, was)
	}
	if node != "" {
		p.node[pod] = node
		p.count[node]++
		changed = append(changed, node)
	}
	return changed
}

// SetPod counts a pod of a Node; gone: it does not exist any more.
func (c *Cache) SetPod(p *corev1.Pod, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	node := p.Spec.NodeName
	if gone || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		node = ""
	}
	for _, name := range c.pods.place(p.Namespace+"/"+p.Name, node) {
		if _, registered := c.nodes.nodes[name]; registered {
			c.join(name)
		}
	}
}

// CountPods adds how many pods each Node has.
func (c *Cache) CountPods(nodes []api.Node) []api.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range nodes {
		nodes[i].Pods = c.pods.count[nodes[i].Name]
	}
	return nodes
}
