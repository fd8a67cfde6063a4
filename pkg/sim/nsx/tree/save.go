package tree

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// savedTree is a tree as [Tree.Save] writes it.
type savedTree struct {
	Nodes []savedNode  `json:"nodes"`
	Freed []savedFreed `json:"freed,omitempty"`
}

// savedNode is a node.
type savedNode struct {
	Path    string     `json:"path"`
	Object  Object     `json:"object"`
	System  bool       `json:"system,omitempty"`
	Number  int64      `json:"number"`
	Changed time.Time  `json:"changed"`
	Due     time.Time  `json:"due"`
	Gone    bool       `json:"gone,omitempty"`
	Address netip.Addr `json:"address"`
}

// savedFreed is an address that may not be allocated yet.
type savedFreed struct {
	Pool    string     `json:"pool"`
	Address netip.Addr `json:"address"`
	Until   time.Time  `json:"until"`
}

// Save writes all objects: with their addresses, and with what is deleted and not purged yet. Obstructions are not among it.
func (t *Tree) Save(w io.Writer) error {
	t.mu.Lock()
	t.settle(time.Now())
	var s savedTree
	for _, path := range slices.Sorted(maps.Keys(t.nodes)) {
		n := t.nodes[path]
		s.Nodes = append(s.Nodes, savedNode{
			Path: n.path, Object: n.object.clone(), System: n.system, Number: n.number, Changed: n.changed, Due: n.due, Gone: n.gone, Address: n.address,
		})
	}
	for _, f := range t.freed {
		s.Freed = append(s.Freed, savedFreed{f.pool, f.address, f.until})
	}
	t.mu.Unlock()
	return json.NewEncoder(w).Encode(s)
}

// Load replaces all objects by those that [Tree.Save] has written. After an error the tree is as before.
func (t *Tree) Load(r io.Reader) error {
	d := json.NewDecoder(r)
	d.UseNumber()
	var s savedTree
	if err := d.Decode(&s); err != nil {
		return err
	}
	nodes, waiting, created := map[string]*node{}, []*node(nil), int64(0)
	for _, saved := range s.Nodes {
		o, err := stored(map[string]any(saved.Object))
		if err != nil {
			return fmt.Errorf("%s: %w", saved.Path, err)
		}
		n := &node{
			path: saved.Path, object: o.(Object), system: saved.System, number: saved.Number, changed: saved.Changed, due: saved.Due, gone: saved.Gone,
			address: saved.Address,
		}
		if !t.IsObject(n.path) {
			return badPath(saved.Path)
		}
		n.pattern, _ = pattern(n.path)
		nodes[n.path], created = n, max(created, n.number)
		if n.pattern == allocations && !n.gone && !n.address.IsValid() {
			waiting = append(waiting, n)
		}
	}
	slices.SortFunc(waiting, func(a, b *node) int { return int(a.number - b.number) })
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nodes, t.waiting, t.created, t.freed = nodes, waiting, created, nil
	for _, f := range s.Freed {
		t.freed = append(t.freed, freed{f.Pool, f.Address, f.Until})
	}
	return nil
}

// stored returns a value as objects in the tree have it.
func stored(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		return v.Int64()
	case map[string]any:
		o := Object{}
		for field, inner := range v {
			var err error
			if o[field], err = stored(inner); err != nil {
				return nil, fmt.Errorf("%s: %w", field, err)
			}
		}
		return o, nil
	case []any:
		for i := range v {
			var err error
			if v[i], err = stored(v[i]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
