package tree

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Options configure a [Tree]. The zero value is useful.
type Options struct {
	// Delay is the time from a change of an object to its realization, and from its deletion to the end of its path's block.
	Delay time.Duration
	// Changed is called after each change, with the verb, the object's path and the user. It must not call the tree. Optional.
	Changed func(verb, path, user string)
}

// Tree holds the policy objects of an NSX Manager. Make one with [New]. Its methods are safe for concurrent use; objects that they
// return are copies.
type Tree struct {
	opts  Options
	kinds map[string]kind

	mu      sync.Mutex
	created int64
	nodes   map[string]*node // by path
	waiting []*node          // allocations without an address, in the order of creation
	freed   []freed          // addresses that may not be allocated yet

	obstructions map[string]Obstruction // by id
}

// node is an object in the tree.
type node struct {
	path    string
	pattern string
	object  Object
	system  bool
	number  int64 // grows with each creation
	changed time.Time
	due     time.Time // when it is realized
	gone    bool      // deleted, and not purged before due
	address netip.Addr
}

// SystemUser is the creator of objects that NSX makes.
const SystemUser = "system"

// New returns a tree with the profiles and monitors that every NSX Manager has.
func New(opts Options) *Tree {
	t := &Tree{opts: opts, kinds: kinds(), nodes: map[string]*node{}}
	for _, b := range builtIn() {
		if err := t.System(b.path, b.object); err != nil {
			panic(err) // a mistake in the table
		}
	}
	return t
}

// System makes an object that belongs to NSX, and that clients cannot change.
func (t *Tree) System(path string, o Object) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, err := t.write(path, o, SystemUser, nil)
	if err != nil {
		return err
	}
	n.system, n.due = true, time.Time{}
	n.object["_system_owned"] = true
	return nil
}

// Get returns the object at a path.
func (t *Tree) Get(path string) (Object, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, err := t.find(path)
	if err != nil {
		return nil, err
	}
	return t.show(n), nil
}

// find returns the node at a path, after what was due before.
func (t *Tree) find(path string) (*node, error) {
	if !t.IsObject(path) {
		return nil, badPath(path)
	}
	t.settle(time.Now())
	n := t.nodes[path]
	if n == nil || n.gone {
		return nil, missing(path)
	}
	return n, nil
}

// show returns what clients see of an object.
func (t *Tree) show(n *node) Object {
	o := n.object.clone()
	if n.pattern == ipPools {
		o["pool_usage"] = t.usage(n)
	}
	return o
}

// Put creates the object at a path, or replaces it: then o must have its _revision. It returns the object.
func (t *Tree) Put(path string, o Object, user string) (Object, error) {
	t.mu.Lock()
	n, err := t.change(path, o, user, false)
	if err != nil {
		t.mu.Unlock()
		return nil, err
	}
	shown := t.show(n)
	t.mu.Unlock()
	t.changed("PUT", path, user)
	return shown, nil
}

// Patch creates the object at a path, or replaces those of its fields that o has.
func (t *Tree) Patch(path string, o Object, user string) error {
	t.mu.Lock()
	_, err := t.change(path, o, user, true)
	t.mu.Unlock()
	if err == nil {
		t.changed("PATCH", path, user)
	}
	return err
}

func (t *Tree) changed(verb, path, user string) {
	if t.opts.Changed != nil {
		t.opts.Changed(verb, path, user)
	}
}

// change is Put and, with merge, Patch.
func (t *Tree) change(path string, o Object, user string, merge bool) (*node, error) {
	old, err := t.find(path)
	switch {
	case err == nil && (old.system || t.kinds[old.pattern].fixed):
		return nil, systemOwned(path)
	case err == nil:
	case !t.IsObject(path):
		return nil, err
	case t.nodes[path] != nil:
		return nil, purging(path)
	}
	if k, _ := t.kindOf(path); k.fixed {
		return nil, systemOwned(path)
	}
	if old != nil && merge {
		merged := old.object.clone()
		maps.Copy(merged, o)
		o = merged
	} else if old != nil {
		given, err := whole(o[fieldRevision])
		if has := old.object[fieldRevision]; err != nil || given != has {
			return nil, stale(path, has, o[fieldRevision])
		}
	}
	return t.write(path, o, user, old)
}

// write stores an object in place of old, which may be nil.
func (t *Tree) write(path string, in Object, user string, old *node) (*node, error) {
	parent, id := split(path)
	if parent != root && (t.nodes[parent] == nil || t.nodes[parent].gone) {
		return nil, badPath(parent)
	}
	o, refs, err := t.read(path, in)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if to := t.nodes[ref]; to == nil || to.gone {
			return nil, badPath(ref)
		}
	}
	now := time.Now()
	n := &node{path: path}
	n.pattern, _ = pattern(path)
	if old != nil {
		if was := old.object[fieldType]; was != o[fieldType] {
			return nil, invalid([]string{fmt.Sprintf("%s of an existing object is %v and cannot become %v", fieldType, was, o[fieldType])})
		}
		if n.pattern == allocations && old.object[fieldRequested] != o[fieldRequested] {
			return nil, invalid([]string{fieldRequested + " of an existing allocation cannot be changed"})
		}
		n = old
	}
	if n.pattern == subnets {
		if err := checkRanges(o); err != nil {
			return nil, err
		}
	}
	if o[fieldName] == nil || o[fieldName] == "" {
		o[fieldName] = id
	}
	stamp := now.UnixMilli()
	o["id"], o["path"], o["parent_path"], o["relative_path"] = id, path, parent, id
	o["marked_for_delete"], o["overridden"] = false, false
	o["_last_modified_time"], o["_last_modified_user"] = stamp, user
	if old == nil {
		t.created++
		n.number = t.created
		unique := uuid.NewString()
		o["unique_id"], o["realization_id"] = unique, unique
		o["_create_time"], o["_create_user"], o[fieldRevision] = stamp, user, int64(0)
		o["_system_owned"], o["_protection"] = false, "NOT_PROTECTED"
	} else {
		for _, kept := range []string{"unique_id", "realization_id", "_create_time", "_create_user", "_system_owned", "_protection"} {
			o[kept] = old.object[kept]
		}
		revision, _ := old.object[fieldRevision].(int64)
		o[fieldRevision] = revision + 1
	}
	n.object, n.changed, n.due = o, now, now.Add(t.delay())
	t.nodes[path] = n
	if old == nil && n.pattern == allocations {
		t.waiting = append(t.waiting, n)
	}
	return n, nil
}

// read returns an object as it is stored, and the paths that it names.
func (t *Tree) read(path string, in Object) (o Object, refs []string, err error) {
	k, _ := t.kindOf(path)
	_, id := split(path)
	in = maps.Clone(in)
	maps.DeleteFunc(in, func(name string, _ any) bool { return ignored(name) })
	name := in.text(fieldType)
	if name == "" && len(k.types) == 1 {
		name = k.types[0]
	}
	of, ok := k.fields[name]
	if !ok {
		return nil, nil, invalid([]string{fmt.Sprintf("%s must be one of %s", fieldType, strings.Join(k.types, ", "))})
	}
	all := commonFields().and(of)
	o, problems := all.read(in)
	if given := o.text("id"); given != "" && given != id {
		problems = append(problems, fmt.Sprintf("id is %q and the path has %q", given, id))
	}
	if tags, _ := o["tags"].([]any); len(tags) > maxTags {
		problems = append(problems, fmt.Sprintf("tags has more than %d", maxTags))
	}
	for field, f := range all {
		if len(f.paths) == 0 {
			continue
		}
		for _, ref := range texts(o[field]) {
			p, ok := pattern(ref)
			if !ok || !slices.Contains(f.paths, p) {
				problems = append(problems, fmt.Sprintf("%s: %q is no path of %s", field, ref, strings.Join(f.paths, ", ")))
				continue
			}
			refs = append(refs, ref)
		}
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return nil, nil, invalid(problems)
	}
	o[fieldType] = name
	return o, refs, nil
}

// texts returns the texts of a value, which is one or a list of them.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		if v != "" {
			return []string{v}
		}
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, texts(e)...)
		}
		return all
	}
	return nil
}

// Delete removes the object at a path. It refuses one that has children or that others name, and with force only one that has
// children.
func (t *Tree) Delete(path, user string, force bool) error {
	t.mu.Lock()
	err := t.delete(path, force)
	t.mu.Unlock()
	if err == nil {
		t.changed("DELETE", path, user)
	}
	return err
}

func (t *Tree) delete(path string, force bool) error {
	n, err := t.find(path)
	if err != nil {
		return err
	}
	if n.system {
		return systemOwned(path)
	}
	if by := t.users(path, force); len(by) > 0 {
		return inUse(path, by)
	}
	now := time.Now()
	n.gone, n.due = true, now.Add(t.delay())
	n.object["marked_for_delete"] = true
	if n.pattern == allocations {
		t.free(n, now)
	}
	t.settle(now)
	return nil
}

// users returns the paths of what keeps an object from being deleted.
func (t *Tree) users(path string, childrenOnly bool) []string {
	var all []string
	for other, n := range t.nodes {
		switch {
		case n.gone || other == path:
		case strings.HasPrefix(other, path+"/"):
			all = append(all, other)
		case !childrenOnly && slices.Contains(t.names(n), path):
			all = append(all, other)
		}
	}
	slices.Sort(all)
	return all
}

// names returns the paths that an object names.
func (t *Tree) names(n *node) []string {
	var all []string
	for field, f := range t.kinds[n.pattern].fields[n.object.text(fieldType)] {
		if len(f.paths) > 0 {
			all = append(all, texts(n.object[field])...)
		}
	}
	return all
}

// All returns every object that is not the system's, sorted by path.
func (t *Tree) All() []Object {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(time.Now())
	var all []Object
	for _, path := range slices.Sorted(maps.Keys(t.nodes)) {
		if n := t.nodes[path]; !n.gone && !n.system {
			all = append(all, t.show(n))
		}
	}
	return all
}
