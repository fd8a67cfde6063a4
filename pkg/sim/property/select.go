package property

import (
	"reflect"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// selected is the result of a selection.
type selected struct {
	// refs are the objects, each once, start objects first. Listed objects may be gone.
	refs []types.ManagedObjectReference
	// sources are the objects whose lists were followed.
	sources map[types.ManagedObjectReference]struct{}
	// missing are start objects that do not exist.
	missing []types.ManagedObjectReference
	// hidden are start objects that the session may not see.
	hidden []types.ManagedObjectReference
}

// run selects. It locks at most one object at a time, only while it copies its references, so the lists of two objects may be of
// different times: a watch must select again when they change.
func (s *Service) run(ctx *simulator.Context, sel *selection) selected {
	w := walker{
		service: s,
		ctx:     ctx,
		seen:    make(map[types.ManagedObjectReference]struct{}),
		visited: make(map[visit]struct{}),
	}
	w.out.sources = make(map[types.ManagedObjectReference]struct{})
	for i := range sel.roots {
		r := &sel.roots[i]
		if _, ok := typeOf(ctx, r.ref); !ok {
			w.out.missing = append(w.out.missing, r.ref)
		} else if !s.visible(ctx, r.ref) {
			w.out.hidden = append(w.out.hidden, r.ref)
		} else if r.self {
			w.add(r.ref)
		}
	}
	for i := range sel.roots {
		if slices.Contains(w.out.hidden, sel.roots[i].ref) {
			continue
		}
		w.follow(sel.roots[i].ref, sel.roots[i].steps)
	}
	return w.out
}

type visit struct {
	ref  types.ManagedObjectReference
	step *step
}

type walker struct {
	service *Service
	ctx     *simulator.Context
	out     selected
	seen    map[types.ManagedObjectReference]struct{}
	visited map[visit]struct{}
}

func (w *walker) add(ref types.ManagedObjectReference) {
	if _, ok := w.seen[ref]; !ok {
		w.seen[ref] = struct{}{}
		w.out.refs = append(w.out.refs, ref)
	}
}

// follow takes every step from an object once.
func (w *walker) follow(ref types.ManagedObjectReference, steps []*step) {
	if len(steps) == 0 {
		return
	}
	// Most objects are at the end of a traversal and need no lock.
	t, ok := typeOf(w.ctx, ref)
	if !ok || !slices.ContainsFunc(steps, func(st *step) bool { return w.applies(t, ref.Type, st) }) {
		return
	}
	type leg struct {
		step *step
		refs []types.ManagedObjectReference
	}
	var legs []leg
	w.service.withObject(w.ctx, ref, func(obj reflect.Value) {
		for _, st := range steps {
			v := visit{ref, st}
			if _, done := w.visited[v]; done || !w.applies(obj.Type(), ref.Type, st) {
				continue
			}
			w.visited[v] = struct{}{}
			legs = append(legs, leg{st, w.service.schema.references(obj, &st.path)})
		}
	})
	if len(legs) != 0 {
		w.out.sources[ref] = struct{}{}
	}
	for _, l := range legs {
		for _, child := range l.refs {
			if !w.service.visible(w.ctx, child) {
				continue
			}
			if !l.step.skip {
				w.add(child)
			}
			w.follow(child, l.step.next)
		}
	}
}

// applies reports whether a step applies to an object of the type.
func (w *walker) applies(t reflect.Type, refType string, st *step) bool {
	return st.typ == "" || w.service.schema.isA(t, refType, st.typ)
}

// references copies the references at a path of a locked object.
func (s *schema) references(obj reflect.Value, p *path) []types.ManagedObjectReference {
	val, _ := s.read(obj, p)
	switch v := val.(type) {
	case types.ManagedObjectReference:
		return []types.ManagedObjectReference{v}
	case types.ArrayOfManagedObjectReference:
		return v.ManagedObjectReference
	}
	return nil
}

// step is one traversal of a compiled selection: from objects of a type, along
// a path that holds references. Steps refer to each other by name on the wire
// and by pointer here, in cycles where the traversal is recursive.
type step struct {
	typ  string
	path path
	skip bool
	next []*step
}

// root is a start object.
type root struct {
	ref types.ManagedObjectReference
	// self is set if the object itself is selected.
	self  bool
	steps []*step
}

// selection is the compiled ObjectSet of a filter.
type selection struct {
	roots []root
	// paths are the properties the traversal follows.
	paths []string
	// unannounced is set if one of them may change without notice.
	unannounced bool
	// listed is the view that equals the selection, for simple ones: changes are then followed without selecting again.
	listed types.ManagedObjectReference
}

// compile resolves the names of a selection. As in vCenter, names are visible in all specs.
func compile(specs []types.PropertyFilterSpec) (*selection, types.BaseMethodFault) {
	c := compiler{named: make(map[string]*step), steps: make(map[*types.TraversalSpec]*step)}
	sel := new(selection)
	for _, spec := range specs {
		for _, o := range spec.ObjectSet {
			c.declare(o.SelectSet, sel)
		}
	}
	for _, spec := range specs {
		for _, o := range spec.ObjectSet {
			steps, fault := c.resolve(o.SelectSet)
			if fault != nil {
				return nil, fault
			}
			sel.roots = append(sel.roots, root{
				ref:   o.Obj,
				self:  o.SelectSet == nil || o.Skip == nil || !*o.Skip,
				steps: steps,
			})
		}
	}
	for ts, s := range c.steps {
		next, fault := c.resolve(ts.SelectSet)
		if fault != nil {
			return nil, fault
		}
		s.next = next
	}
	sel.listed = sel.onlyView()
	return sel, nil
}

// onlyView returns the view that equals the selection, if any.
func (sel *selection) onlyView() types.ManagedObjectReference {
	if len(sel.roots) != 1 || len(sel.roots[0].steps) != 1 {
		return types.ManagedObjectReference{}
	}
	view := sel.roots[0].ref
	st := sel.roots[0].steps[0]
	fits := st.typ == "" || st.typ == view.Type || st.typ == "View" || st.typ == "ManagedObjectView"
	if view.Type != "ContainerView" && view.Type != "ListView" ||
		!fits || st.path.name != "view" || st.skip || len(st.next) != 0 {
		return types.ManagedObjectReference{}
	}
	return view
}

type compiler struct {
	named map[string]*step
	steps map[*types.TraversalSpec]*step
}

// declare creates a step for every traversal spec, at any depth.
func (c *compiler) declare(set []types.BaseSelectionSpec, sel *selection) {
	for _, ss := range set {
		ts, ok := ss.(*types.TraversalSpec)
		if !ok || c.steps[ts] != nil {
			continue
		}
		s := &step{typ: ts.Type, path: parsePath(ts.Path), skip: ts.Skip != nil && *ts.Skip}
		c.steps[ts] = s
		if ts.Name != "" {
			c.named[ts.Name] = s
		}
		sel.paths = append(sel.paths, ts.Path)
		sel.unannounced = sel.unannounced || isUnannounced(top(ts.Path))
		c.declare(ts.SelectSet, sel)
	}
}

func (c *compiler) resolve(set []types.BaseSelectionSpec) ([]*step, types.BaseMethodFault) {
	var steps []*step
	for _, ss := range set {
		if ss == nil {
			continue // an element of an unknown type
		}
		if ts, ok := ss.(*types.TraversalSpec); ok {
			steps = append(steps, c.steps[ts])
			continue
		}
		s := c.named[ss.GetSelectionSpec().Name]
		if s == nil {
			return nil, &types.InvalidArgument{InvalidProperty: "undefined TraversalSpec name"}
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// traverses reports whether a change of the named property may change the selection.
func (sel *selection) traverses(name string) bool {
	return slices.ContainsFunc(sel.paths, func(p string) bool { return related(name, p) })
}

// startsAt reports whether the object is a start object.
func (sel *selection) startsAt(ref types.ManagedObjectReference) bool {
	for i := range sel.roots {
		if sel.roots[i].ref == ref {
			return true
		}
	}
	return false
}
