package nodes

import (
	"context"
	"errors"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// Node implements [volume.Nodes]. It answers from memory. An id of which no picture has a VM is asked of every vCenter
// directly; the answer is volume.ErrNodeGone when all of them, reachable and readable, say that there is none, and
// volume.ErrUnavailable when one is in doubt or the VM is somewhere unexpected. What is no BIOS UUID is no node's.
func (n *Nodes) Node(ctx context.Context, id string) (volume.Node, error) {
	u, err := parseUUID(id)
	if err != nil {
		return volume.Node{}, fmt.Errorf("node %q: %w: %w", id, volume.ErrNodeGone, err)
	}
	m, v, err := n.lookup(u)
	if errors.Is(err, errNoVM) {
		if m, v, err = n.ask(ctx, u); err == nil && v == nil {
			return volume.Node{}, fmt.Errorf("node %q: %w", id, volume.ErrNodeGone)
		}
	}
	if err != nil {
		return volume.Node{}, fmt.Errorf("node %q: %w: %w", id, volume.ErrUnavailable, err)
	}
	n.spelled.learn(v.uuid, id)
	return volume.Node{ID: id, Name: n.nodeName(u), VCenter: m.name(), VM: v.ref.Value}, nil
}

// In returns the cluster's nodes whose VMs are in one vCenter, by name, from memory. Their ids are those that [Nodes.Node]
// was last asked for, which are the ones that Kubernetes has; of a node that nobody has asked for it is the BIOS UUID in the
// vCenter's form, which is the usual one. The error, which comes with those that are known, wraps volume.ErrUnavailable:
// there may be more, because the cluster's nodes are not known yet, or because that vCenter cannot be relied on. A node
// whose VM no vCenter has is in none.
func (n *Nodes) In(vcenter string) ([]volume.Node, error) {
	m, err := n.member(vcenter)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", volume.ErrUnavailable, err)
	}
	l := n.current()
	var all []volume.Node
	for _, node := range l.nodes {
		if node.in == m {
			all = append(all, volume.Node{ID: n.spelled.of(node.vm.uuid), Name: node.name, VCenter: vcenter, VM: node.vm.ref.Value})
		}
	}
	if !l.known {
		return all, fmt.Errorf("%w: %w", volume.ErrUnavailable, errNodesUnknown)
	}
	if err := m.doubt(); err != nil {
		return all, fmt.Errorf("%w: %w", volume.ErrUnavailable, err)
	}
	return all, nil
}

// nodeName is the name of the Kubernetes node with that UUID, "" without one.
func (n *Nodes) nodeName(u match.UUID) string {
	names := n.current().names
	if name, ok := names[u]; ok {
		return name
	}
	return names[u.Swapped()]
}

// Segment returns the topology of the VM of a node id, nil when no categories are configured. node is what it is called
// in errors. Errors: a [*MissingTagError]; volume.ErrNodeGone; volume.ErrUnavailable, also for a VM that is too new to
// say where it is.
func (n *Nodes) Segment(ctx context.Context, node, id string) (volume.Segment, error) {
	u, err := parseUUID(id)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w: %w", node, volume.ErrNodeGone, err)
	}
	m, v, err := n.lookup(u)
	if errors.Is(err, errNoVM) {
		switch _, v, err = n.ask(ctx, u); {
		case err != nil:
		case v == nil:
			return nil, fmt.Errorf("node %q: %w of BIOS UUID %s", node, volume.ErrNodeGone, u)
		default:
			err = fmt.Errorf("where vm %s is, is not known yet", v.ref.Value)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("node %q: %w: %w", node, volume.ErrUnavailable, err)
	}
	return m.segment(node, v)
}
