package nodes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// MissingTagError reports that a node has no tag of a category, with the details that are needed to fix it. It is not a
// failure of the vCenter.
type MissingTagError struct {
	Node, VM, VCenter string
	// Category is the first category without a tag; NoCategory reports that the vCenter has no category with that name.
	Category   string
	NoCategory bool
	// Walked lists the visited objects in order: HostSystem "west-1".
	Walked []string
}

// Error returns a message with the category, the node and the visited objects.
func (e *MissingTagError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "node %q: no tag of category %q on any of %s in vcenter %q", e.Node, e.Category, strings.Join(e.Walked, ", "), e.VCenter)
	if e.NoCategory {
		fmt.Fprintf(&b, ", which has no category with that name")
	}
	return b.String()
}

// segment returns the topology of a VM in the inventory; see the package comment. Without categories it is nil. Errors: a
// [*MissingTagError], and one that wraps volume.ErrUnavailable before the first read of the tags.
func (m *member) segment(node string, v *vm) (volume.Segment, error) {
	if len(m.categories) == 0 {
		return nil, nil
	}
	tags := m.tags.state.Load()
	if !tags.read {
		if tags.err != nil {
			return nil, fmt.Errorf("%w: vcenter %q: tags: %w", volume.ErrUnavailable, m.name(), tags.err)
		}
		return nil, fmt.Errorf("%w: vcenter %q: tags not read yet", volume.ErrUnavailable, m.name())
	}
	m.inventory.mu.RLock()
	defer m.inventory.mu.RUnlock()
	s := volume.Segment{}
	for i, c := range m.categories {
		tag, ok := m.inventory.nearest(v, tags.of[i])
		if !ok {
			m.tags.missed()
			return nil, &MissingTagError{
				Node: node, VM: v.name, VCenter: m.name(), Category: c.Name, NoCategory: tags.absent[i], Walked: m.inventory.walked(v),
			}
		}
		s[c.key()] = tag
	}
	return s, nil
}

// nearest returns the tag on the nearest object. The lock is held.
func (p *inventory) nearest(v *vm, tags attached) (string, bool) {
	for _, start := range [...]ref{v.host, v.pool, v.ref} {
		for r, n := start, 0; r.Value != "" && n < maxDepth; r, n = p.up(r), n+1 {
			if names := tags[r]; len(names) > 0 {
				return names[0], true
			}
		}
	}
	return "", false
}

func (m *member) prefers(d *datastore, in volume.Segment) bool {
	tags := m.tags.state.Load()
	if !tags.read {
		return false
	}
	names := tags.of[len(tags.of)-1][d.ref]
	for _, value := range in {
		if slices.Contains(names, value) {
			return true
		}
	}
	return false
}

// walked lists the objects that nearest visits, once each. The lock is held.
func (p *inventory) walked(v *vm) (all []string) {
	seen := map[ref]bool{}
	for _, start := range [...]ref{v.host, v.pool, v.ref} {
		for r := start; r.Value != "" && !seen[r]; r = p.up(r) {
			seen[r] = true
			all = append(all, fmt.Sprintf("%s %q", r.Type, p.name(r)))
		}
	}
	return all
}

// within reports whether segment s is in segment of, which may be larger.
func within(s, of volume.Segment) bool {
	for k, v := range of {
		if s[k] != v {
			return false
		}
	}
	return true
}

// segmentKey returns a segment in a comparable form.
func segmentKey(s volume.Segment) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s=%s\n", k, s[k])
	}
	return b.String()
}

// segmentText returns a segment for messages: "k8s-region=us, k8s-zone=us-west".
func segmentText(s volume.Segment) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, k[strings.LastIndexByte(k, '/')+1:]+"="+s[k])
	}
	if len(parts) == 0 {
		return "anywhere"
	}
	return strings.Join(parts, ", ")
}
