package property

import (
	"reflect"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// plan is what a client wants to know of one type of object.
type plan struct {
	entries []entry
	// lists are the names of entries that vcsim changes without notice.
	lists []string
}

type entry struct {
	path
	// whole marks a property that was not named but comes with "all": left out
	// while it is unset.
	whole bool
}

// newPlan gathers the property specs that match a type. It is nil when none
// does: the object is then not reported.
func (s *schema) newPlan(t reflect.Type, refType string, specs []types.PropertySpec) *plan {
	var p *plan
	seen := make(map[string]bool)
	add := func(name string, whole bool) {
		if seen[name] {
			return // rvc and others name a path twice and choke on two answers
		}
		seen[name] = true
		p.entries = append(p.entries, entry{path: parsePath(name), whole: whole})
		if isUnannounced(top(name)) {
			p.lists = append(p.lists, name)
		}
	}
	for _, spec := range specs {
		if !s.isA(t, refType, spec.Type) {
			continue
		}
		if p == nil {
			p = new(plan)
		}
		if spec.All != nil && *spec.All {
			eachProperty(t, func(name string) { add(name, true) })
			continue
		}
		for _, name := range spec.PathSet {
			add(name, false)
		}
	}
	return p
}

// eachProperty names the properties of a managed object type.
func eachProperty(t reflect.Type, f func(name string)) {
	for field := range t.Fields() {
		switch sf := field; {
		case sf.Name == "Self" || !sf.IsExported():
		case sf.Anonymous:
			eachProperty(sf.Type, f)
		default:
			f(propertyName(sf.Name))
		}
	}
}

// asks says whether a change of the named property may change a planned one.
func (p *plan) asks(name string) bool {
	return slices.ContainsFunc(p.entries, func(e entry) bool { return related(name, e.name) })
}

// isUnannounced names the properties that vcsim sets as a side effect, without
// telling anybody (Registry.AppendReference, AddReference, RemoveReference and
// their callers).
func isUnannounced(name string) bool {
	switch name {
	case "childEntity", "vm", "host", "datastore", "network", "resourcePool", "parent", "portgroup", "rootSnapshot":
		return true
	}
	return false
}

// content reads everything planned of an object that is locked.
func (p *plan) content(s *schema, obj reflect.Value, ref types.ManagedObjectReference) types.ObjectContent {
	c := types.ObjectContent{Obj: ref}
	for i := range p.entries {
		e := &p.entries[i]
		val, r := s.read(obj, &e.path)
		switch {
		case r == invalid:
			if !e.whole {
				c.MissingSet = append(c.MissingSet, invalidProperty(e.name))
			}
		case val == nil && e.whole:
		default:
			c.PropSet = append(c.PropSet, types.DynamicProperty{Name: e.name, Val: val})
		}
	}
	return c
}

func invalidProperty(name string) types.MissingProperty {
	return types.MissingProperty{
		Path:  name,
		Fault: types.LocalizedMethodFault{Fault: &types.InvalidProperty{Name: name}},
	}
}
