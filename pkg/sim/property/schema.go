package property

import (
	"hash/maphash"
	gopath "path"
	"reflect"
	"strings"
	"sync"
)

// schema knows the Go types behind managed objects. It only caches what
// reflection finds; it is safe for concurrent use.
type schema struct {
	seed   maphash.Seed
	fields sync.Map // fieldKey → fieldIndex
	plain  sync.Map // reflect.Type → bool
}

func newSchema() *schema { return &schema{seed: maphash.MakeSeed()} }

type fieldKey struct {
	t    reflect.Type
	name string
}

type fieldIndex struct {
	index []int
	ok    bool
}

// field finds the field of a struct type that carries a property name.
func (s *schema) field(t reflect.Type, name string) ([]int, bool) {
	k := fieldKey{t, name}
	if v, ok := s.fields.Load(k); ok {
		f := v.(fieldIndex)
		return f.index, f.ok
	}
	var f fieldIndex
	if name != "" && t.Kind() == reflect.Struct {
		f.index, f.ok = findField(t, strings.ToUpper(name[:1])+name[1:])
	}
	s.fields.Store(k, f)
	return f.index, f.ok
}

// findField is reflect's FieldByName, except that an embedded struct is no
// field: the property resourcePool of a VirtualApp is a list, not the
// ResourcePool that it extends.
func findField(t reflect.Type, name string) ([]int, bool) {
	for i := range t.NumField() {
		if sf := t.Field(i); sf.Name == name && !sf.Anonymous && sf.IsExported() {
			return []int{i}, true
		}
	}
	for i := range t.NumField() {
		sf := t.Field(i)
		if !sf.Anonymous || sf.Type.Kind() != reflect.Struct {
			continue
		}
		if index, ok := findField(sf.Type, name); ok {
			return append([]int{i}, index...), true
		}
	}
	return nil, false
}

// isA says whether a managed object is of the type a client named: its own
// type, or one that it extends, such as ManagedEntity.
func (s *schema) isA(t reflect.Type, refType, name string) bool {
	if name == refType || name == t.Name() {
		return true
	}
	f, ok := t.FieldByName(name)
	return ok && f.Anonymous
}

// moType finds the type of package mo that a simulator type wraps: by vcsim's
// convention it is the first field, at any depth.
func moType(t reflect.Type) (reflect.Type, bool) {
	for {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if gopath.Base(t.PkgPath()) == "mo" && t.Kind() == reflect.Struct {
			return t, true
		}
		if t.Kind() != reflect.Struct || t.NumField() == 0 {
			return nil, false
		}
		t = t.Field(0).Type
	}
}

// moValue is moType for a value.
func moValue(v reflect.Value) (reflect.Value, bool) {
	for {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		if gopath.Base(v.Type().PkgPath()) == "mo" && v.Kind() == reflect.Struct {
			return v, true
		}
		if v.Kind() != reflect.Struct || v.NumField() == 0 {
			return v, false
		}
		v = v.Field(0)
	}
}

// propertyName is the name of a field on the wire.
func propertyName(field string) string {
	return strings.ToLower(field[:1]) + field[1:]
}
