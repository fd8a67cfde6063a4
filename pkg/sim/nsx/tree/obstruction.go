package tree

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Obstruction prevents or delays realization. Fields that are not set do nothing.
type Obstruction struct {
	// Pool is the path of an IP pool that has no free address. Addresses that are allocated stay.
	Pool string
	// Type is the resource type of objects whose realization ends in ERROR, with Reason: those that change from now on.
	Type, Reason string
	// Delay is added to the time until a changed object is realized.
	Delay time.Duration

	since time.Time
}

// Obstruct puts an obstruction in force until [Tree.Clear] is called with the same id. A second one of that id replaces the first.
func (t *Tree) Obstruct(id string, o Obstruction) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o.Pool != "" {
		if n, err := t.find(o.Pool); err != nil {
			return err
		} else if n.pattern != ipPools {
			return fmt.Errorf("%s is no IP pool", o.Pool)
		}
	}
	o.since = time.Now()
	t.settle(o.since) // what was due before is not affected
	if t.obstructions == nil {
		t.obstructions = map[string]Obstruction{}
	}
	t.obstructions[id] = o
	return nil
}

// Clear ends an obstruction; one that does not exist is no error. Objects are realized if nothing else prevents it.
func (t *Tree) Clear(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.obstructions, id)
}

// delay is the time from a change to its realization.
func (t *Tree) delay() time.Duration {
	d := t.opts.Delay
	for _, o := range t.obstructions {
		d += o.Delay
	}
	return d
}

// exhausted reports whether an obstruction makes a pool have no free address.
func (t *Tree) exhausted(pool string) bool {
	for _, o := range t.obstructions {
		if o.Pool == pool {
			return true
		}
	}
	return false
}

// obstructed returns the error with which the realization of an object ends, or nil.
func (t *Tree) obstructed(n *node) error {
	for _, id := range slices.Sorted(maps.Keys(t.obstructions)) {
		if o := t.obstructions[id]; o.Type != "" && o.Type == n.object.text(fieldType) && !n.changed.Before(o.since) {
			return errors.New(o.Reason)
		}
	}
	return nil
}
