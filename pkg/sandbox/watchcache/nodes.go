package watchcache

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// nodes joins nodes with their VMs as [world.World.Nodes] does, one change at a time. The lock of the table guards it.
type nodes struct {
	vms     map[world.VMKey]vmRow
	nodes   map[string]nodeRow
	byKey   map[string][]world.VMKey // VMs by what a node may have in common with them
	nodesBy map[string][]string      // nodes by the same
	on      map[world.VMKey]int      // how many nodes run on a VM
	// wanted are the rows of VMs that should be nodes and are none: their names by VM, and the VM by name.
	wanted map[world.VMKey]string
	owner  map[string]world.VMKey
}

type vmRow struct {
	world.VM
	keys []string
}

// nodeRow is a node, what identifies its VM, and the VM that it runs on.
type nodeRow struct {
	api.Node
	facts match.Node
	keys  []string
	vm    world.VMKey
}

func (n *nodes) open() {
	if n.vms == nil {
		n.vms, n.nodes, n.byKey, n.nodesBy = map[world.VMKey]vmRow{}, map[string]nodeRow{}, map[string][]world.VMKey{}, map[string][]string{}
		n.on, n.wanted, n.owner = map[world.VMKey]int{}, map[world.VMKey]string{}, map[string]world.VMKey{}
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
	before, now := n.vms[key].keys, vmRow{VM: v}
	if v.Exists {
		now.keys = v.Facts().Keys()
		n.vms[key] = now
		c.set(row, api.Update{VM: &v.VM})
	} else {
		delete(n.vms, key)
		c.drop(row)
	}
	move(n.byKey, before, now.keys, key)
	c.joinAll(append(slices.Clone(before), now.keys...))
	c.want(key)
}

// SetNode sets the row of a Node object, as [world.NodeRow] has it. Facts are what identifies its VM.
func (c *Cache) SetNode(row api.Node, facts match.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.nodes
	n.open()
	old, now := n.nodes[row.Name], nodeRow{Node: row, facts: facts, keys: facts.Keys()}
	now.vm = old.vm
	n.nodes[row.Name] = now
	move(n.nodesBy, old.keys, now.keys, row.Name)
	if key, ok := n.owner[row.Name]; ok { // the row is the node's now
		delete(n.owner, row.Name)
		delete(n.wanted, key)
	}
	c.join(row.Name)
}

// DeleteNode drops the row of a Node object. If its VM is there, the VM should be a node and keeps a row.
func (c *Cache) DeleteNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.nodes
	old := n.nodes[name]
	delete(n.nodes, name)
	move(n.nodesBy, old.keys, nil, name)
	c.runOn(old.vm, world.VMKey{})
	for _, key := range (match.Node{Name: name}).Keys() { // a VM could not have a row while the node had its name
		for _, vm := range n.byKey[key] {
			c.want(vm)
		}
	}
	if _, ok := n.owner[name]; !ok {
		c.drop("node/" + name)
	}
}

// VMs returns the VMs that have one of these UUIDs.
func (c *Cache) VMs(ids []string) (keys []world.VMKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		for _, common := range (match.Node{SystemUUID: id}).Keys() {
			for _, key := range c.nodes.byKey[common] {
				if !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
		}
	}
	return keys
}

// join sets the row of a node, with what its VM adds to it.
func (c *Cache) join(name string) {
	n := &c.nodes
	node := n.nodes[name]
	was, row := node.vm, node.Node
	node.vm = world.VMKey{}
	a := world.Match(node.facts, func(key string) (vms []world.VM) {
		for _, vm := range n.byKey[key] {
			vms = append(vms, n.vms[vm].VM)
		}
		return vms
	})
	if v := a.VM; a.Reason == match.Found {
		node.vm, row.VM, row.VCenter, row.Datacenter, row.Power = v.Key(), v.Name, v.VCenter, v.Datacenter, v.Power
	}
	n.nodes[name] = node
	row.Pods = c.pods.count[name]
	c.set("node/"+name, api.Update{Node: &row})
	c.runOn(was, node.vm)
}

// runOn counts a node that ran on a VM and runs on another now. The zero value is none.
func (c *Cache) runOn(was, now world.VMKey) {
	if was == now {
		return
	}
	if c.nodes.on[was]--; c.nodes.on[was] <= 0 {
		delete(c.nodes.on, was)
	}
	c.want(was)
	if now != (world.VMKey{}) {
		c.nodes.on[now]++
		c.want(now)
	}
}

// joinAll joins the nodes that have one of the keys.
func (c *Cache) joinAll(keys []string) {
	done := map[string]bool{}
	for _, key := range keys {
		for _, name := range slices.Clone(c.nodes.nodesBy[key]) {
			if !done[name] {
				done[name] = true
				c.join(name)
			}
		}
	}
}

// wantedName returns the name of the node that a VM should be.
func wantedName(v api.VM) string { return strings.ToLower(cmp.Or(v.Hostname, v.Name)) }

// want keeps the row of a VM that should be a node and is none.
func (c *Cache) want(key world.VMKey) {
	n := &c.nodes
	v, exists := n.vms[key]
	name := wantedName(v.VM.VM)
	_, taken := n.nodes[name]
	if owner, ok := n.owner[name]; ok && owner != key {
		taken = true
	}
	wanted := exists && v.Role != "" && n.on[key] == 0 && !taken
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

// move takes v out of the lists of some keys and adds it to those of others.
func move[K, V comparable](lists map[K][]V, from, to []K, v V) {
	if slices.Equal(from, to) {
		return
	}
	for _, key := range from {
		left := slices.DeleteFunc(slices.Clone(lists[key]), func(other V) bool { return other == v })
		if lists[key] = left; len(left) == 0 {
			delete(lists, key)
		}
	}
	for _, key := range to {
		if !slices.Contains(lists[key], v) {
			lists[key] = append(lists[key], v)
		}
	}
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
