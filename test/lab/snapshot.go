package lab

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Snapshot is what a cloud provider decided about a Node, in a form that can be compared: sorted where the order has no
// meaning, and without what other components write.
type Snapshot struct {
	Name, ProviderID, Type string
	// Labels are the well-known ones and those that the CCM was configured to set.
	Labels map[string]string
	// Addresses are "InternalIP 10.0.0.1", in the order of the Node: it has a meaning.
	Addresses []string
	// Taints are the keys of the cloud's own, sorted.
	Taints []string
}

// Snapshots are those of all Nodes, sorted by name.
func (s NodeSet) Snapshots() []Snapshot {
	all := make([]Snapshot, 0, len(s))
	for _, name := range s.Names() {
		all = append(all, SnapshotOf(s[name]))
	}
	return all
}

// SnapshotOf is that of one Node.
func SnapshotOf(n *corev1.Node) Snapshot {
	s := Snapshot{
		Name: n.Name, ProviderID: n.Spec.ProviderID, Type: n.Labels[corev1.LabelInstanceTypeStable],
		Labels: maps.Clone(n.Labels),
	}
	delete(s.Labels, corev1.LabelHostname) // the kubelet's
	for _, a := range n.Status.Addresses {
		s.Addresses = append(s.Addresses, string(a.Type)+" "+a.Address)
	}
	for _, t := range n.Spec.Taints {
		if strings.HasPrefix(t.Key, "node.cloudprovider.kubernetes.io/") {
			s.Taints = append(s.Taints, t.Key)
		}
	}
	slices.Sort(s.Taints)
	return s
}
