package existing

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// SetNode implements [ground.NodeSource].
func (g *Ground) SetNode(n *corev1.Node) []string {
	role := topology.RoleWorker
	if _, ok := n.Labels[world.ControlPlaneLabel]; ok {
		role = topology.RoleControlPlane
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.nodes.set(n.Name, entry{role, uuidsOf(n)})
}

// DeleteNode implements [ground.NodeSource].
func (g *Ground) DeleteNode(name string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.nodes.drop(name)
}

// NodeOf implements [ground.NodeSource].
func (g *Ground) NodeOf(uuid string) (name string, role topology.Role, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	claims := g.nodes.claims[strings.ToLower(uuid)]
	if len(claims) == 0 {
		return "", "", false
	}
	return claims[0], g.nodes.entries[claims[0]].role, true
}

// nodes are the Nodes of the cluster, and the UUIDs by which they have their VMs. The zero value is ready.
type nodes struct {
	entries map[string]entry
	claims  map[string][]string // names of nodes, by UUID: of several, the first has it
}

type entry struct {
	role topology.Role
	ids  []string
}

// set says what a Node is like, and returns the UUIDs that this is news for.
func (t *nodes) set(name string, is entry) (touched []string) {
	was, known := t.entries[name]
	if known && was.role == is.role && slices.Equal(was.ids, is.ids) {
		return nil
	}
	if t.entries == nil {
		t.entries, t.claims = map[string]entry{}, map[string][]string{}
	}
	t.drop(name)
	t.entries[name] = is
	for _, id := range is.ids {
		t.claims[id] = append(t.claims[id], name)
	}
	return append(slices.Clone(is.ids), was.ids...)
}

// drop forgets a Node, and returns the UUIDs that it had.
func (t *nodes) drop(name string) []string {
	ids := t.entries[name].ids
	for _, id := range ids {
		left := slices.DeleteFunc(slices.Clone(t.claims[id]), func(n string) bool { return n == name })
		if t.claims[id] = left; len(left) == 0 {
			delete(t.claims, id)
		}
	}
	delete(t.entries, name)
	return ids
}

// uuidsOf returns the UUID by which a Node has its VM, in both byte orders. A Node of another cloud has none.
func uuidsOf(n *corev1.Node) []string {
	u, err := kubenode.Facts(n).UUID()
	if err != nil {
		return nil
	}
	return []string{u.String(), u.Swapped().String()}
}
