package property

import (
	"reflect"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// selected is what a selection came to.
type selected struct {
	// refs are the objects, each once, the ones started from first. An object
	// that a list names may be gone.
	refs []types.ManagedObjectReference
	// sources are the objects whose lists were followed.
	sources map[types.ManagedObjectReference]struct{}
	// missing are the objects started from that do not exist.
	missing []types.ManagedObjectReference
	// hidden are the objects started from that the session may not see.
	hidden []types.ManagedObjectReference
}

// run selects. At most one object is locked at any moment, and only while its
// references are copied, so the lists of two objects may be of two moments:
// who watches must look again at objects that change meanwhile.
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

// follow takes every step from an object, each once.
func (w *walker) follow(ref types.ManagedObjectReference, steps []*step) {
	if len(steps) == 0 {
		return
	}
	// Most objects are where a traversal ends: those need not be locked.
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

// applies says whether a step is meant for an object of the type.
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
