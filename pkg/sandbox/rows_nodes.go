package sandbox

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// nodeRows joins nodes with their VMs as [world.World.Nodes] does, one change at a time. The lock of the table guards it.
type nodeRows struct {
	vms    map[vmKey]api.VM
	byUUID map[string][]vmKey // VMs
	nodes  map[string]nodeRow
	claims map[string][]string // names of nodes by UUIDs that they have
	// wanted are the rows of VMs that should be nodes and are none: their names by VM, and the VM by name.
	wanted map[vmKey]string
	owner  map[string]vmKey
}

// nodeRow is a node, and the UUIDs that it may have its VM by, the surest first.
type nodeRow struct {
	api.Node
	uuids []string
}

func (n *nodeRows) open() {
	if n.vms == nil {
		n.vms, n.byUUID, n.nodes, n.claims = map[vmKey]api.VM{}, map[string][]vmKey{}, map[string]nodeRow{}, map[string][]string{}
		n.wanted, n.owner = map[vmKey]string{}, map[string]vmKey{}
	}
}

// vm tells of a VM.
func (r *rows) vm(v world.VM) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &r.nodes
	n.open()
	key := vmKey{v.VCenter, v.Ref}
	row := "vm/" + key.vcenter + "/" + key.ref.Value
	old, was := n.vms[key]
	before, after := strings.ToLower(old.UUID), strings.ToLower(v.UUID)
	if was && (before != after || !v.Exists) {
		n.byUUID[before] = without(n.byUUID[before], key)
	}
	if !v.Exists {
		delete(n.vms, key)
		r.drop(row)
	} else {
		n.vms[key] = v.VM
		if after != "" && (!was || before != after) {
			n.byUUID[after] = append(n.byUUID[after], key)
		}
		r.set(row, api.Update{VM: &v.VM})
	}
	for _, id := range []string{before, after} {
		for _, name := range n.claims[id] {
			r.joined(name)
		}
	}
	r.want(key)
}

// node tells of a Node object, as [world.NodeRow] has it, and [world.UUIDs].
func (r *rows) node(row api.Node, uuids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &r.nodes
	n.open()
	touched := r.unclaim(row.Name)
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
	r.joined(row.Name)
	r.wantAll(append(touched, now.uuids...))
}

// nodeGone tells that a Node object was deleted. If its VM is there, it should be a node.
func (r *rows) nodeGone(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	touched := r.unclaim(name)
	delete(r.nodes.nodes, name)
	r.wantAll(touched)
	if _, ok := r.nodes.owner[name]; !ok {
		r.drop("node/" + name)
	}
}

// unclaim forgets the UUIDs of a node, and returns them.
func (r *rows) unclaim(name string) []string {
	n := &r.nodes
	uuids := n.nodes[name].uuids
	for _, id := range uuids {
		n.claims[id] = without(n.claims[id], name)
	}
	return slices.Clone(uuids)
}

// vmsOf are the VMs that have one of these UUIDs, in lower case.
func (r *rows) vmsOf(ids []string) (keys []vmKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		for _, key := range r.nodes.byUUID[id] {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// joined tells of a node with what its VM adds to it.
func (r *rows) joined(name string) {
	n := &r.nodes
	row := n.nodes[name]
	for _, id := range row.uuids {
		if keys := n.byUUID[id]; len(keys) > 0 {
			v := n.vms[keys[0]]
			row.VM, row.VCenter, row.Datacenter, row.Power = v.Name, v.VCenter, v.Datacenter, v.Power
			break
		}
	}
	row.Pods = r.pods.count[name]
	r.set("node/"+name, api.Update{Node: &row.Node})
}

func (r *rows) wantAll(uuids []string) {
	for _, id := range uuids {
		for _, key := range slices.Clone(r.nodes.byUUID[id]) {
			r.want(key)
		}
	}
}

// want keeps the row of a VM that should be a node and is none.
func (r *rows) want(key vmKey) {
	n := &r.nodes
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
		r.drop("node/" + was)
	}
	if wanted {
		n.wanted[key], n.owner[name] = name, key
		r.set("node/"+name, api.Update{Node: &api.Node{
			Name: name, VM: v.Name, VCenter: v.VCenter, Datacenter: v.Datacenter, Power: v.Power,
		}})
	}
}

func without[T comparable](list []T, gone T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(v T) bool { return v == gone })
}
