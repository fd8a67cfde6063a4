package volumetest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

var _ volume.Nodes = (*Cluster)(nil)

// Node implements [volume.Nodes].
func (c *Cluster) Node(ctx context.Context, id string) (volume.Node, error) {
	if err := c.enter(ctx, "Node"); err != nil {
		return volume.Node{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.node(id)
	return n.Node, err
}

// node is called with the lock held.
func (c *Cluster) node(id string) (node, error) {
	for _, n := range c.nodes {
		if same(n.ID, id) {
			return n, nil
		}
	}
	return node{}, fmt.Errorf("node %s: %w", id, volume.ErrNodeGone)
}

// Places implements [volume.Nodes]: a place is a vCenter's datastores that all nodes of one segment reach, and without a
// requirement, that all nodes reach. Preferred segments come first, in their order.
func (c *Cluster) Places(ctx context.Context, r volume.Requirement) ([]volume.Place, error) {
	if err := c.enter(ctx, "Places"); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := slices.Concat(r.Preferred, r.Requisite)
	if len(wanted) == 0 {
		wanted = []volume.Segment{nil}
	}
	var places []volume.Place
	for i, segment := range wanted {
		if slices.ContainsFunc(wanted[:i], func(s volume.Segment) bool { return maps.Equal(s, segment) }) {
			continue
		}
		for _, vcenter := range c.vcenters() {
			p, err := c.place(vcenter, segment, r)
			if err != nil {
				return nil, err
			}
			if len(p.Datastores) > 0 {
				places = append(places, p)
			}
		}
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("no datastore for %v: %w", wanted, volume.ErrNoDatastore)
	}
	return places, nil
}

// place is called with the lock held.
func (c *Cluster) place(vcenter string, segment volume.Segment, r volume.Requirement) (volume.Place, error) {
	p := volume.Place{VCenter: vcenter}
	var complying map[string]bool
	if r.Policy != "" {
		rule, ok := c.policies[vcenter+"/"+r.Policy]
		if !ok {
			return p, fmt.Errorf("storage policy %q of vcenter %q: %w", r.Policy, vcenter, volume.ErrNotFound)
		}
		p.PolicyID, complying = rule.id, rule.refs
	}
	if segment != nil {
		p.Segments = []volume.Segment{segment}
	}
	for _, d := range c.datastores {
		if d.VCenter == vcenter && (complying == nil || complying[d.Ref]) &&
			(r.DatastoreURL == "" || r.DatastoreURL == d.URL) && c.reached(d, segment) {
			p.Datastores = append(p.Datastores, d)
		}
	}
	return p, nil
}

// reached says that there are nodes in the segment and all mount the datastore.
func (c *Cluster) reached(d volume.Datastore, segment volume.Segment) bool {
	some := false
	for _, n := range c.nodes {
		if n.VCenter != d.VCenter || !within(n.segment, segment) {
			continue
		}
		if !n.mounts[d.Ref] {
			return false
		}
		some = true
	}
	return some
}

// within says that a node's segment has every value of another.
func within(in, segment volume.Segment) bool {
	for key, value := range segment {
		if in[key] != value {
			return false
		}
	}
	return true
}

func (c *Cluster) vcenters() []string {
	all := map[string]bool{}
	for _, d := range c.datastores {
		all[d.VCenter] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// SegmentsOf implements [volume.Nodes].
func (c *Cluster) SegmentsOf(ctx context.Context, vcenter, url string) ([]volume.Segment, error) {
	if err := c.enter(ctx, "SegmentsOf"); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var segments []volume.Segment
	for _, d := range c.datastores {
		if d.VCenter != vcenter || d.URL != url {
			continue
		}
		for _, n := range c.nodes {
			known := slices.ContainsFunc(segments, func(s volume.Segment) bool { return maps.Equal(s, n.segment) })
			if n.VCenter == vcenter && !known && len(n.segment) > 0 && c.reached(d, n.segment) {
				segments = append(segments, n.segment)
			}
		}
	}
	return segments, nil
}
