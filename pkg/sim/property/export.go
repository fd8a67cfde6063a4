package property

import (
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// export copies a value for the wire: pointers and interfaces are followed, a
// list is wrapped in its ArrayOf type. It is nil for what is not set.
func (s *schema) export(v reflect.Value) any {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.Slice {
		array, ok := arrayOf(v.Type())
		if !ok {
			return nil
		}
		a := reflect.New(array).Elem()
		a.Field(0).Set(s.clone(v).Convert(a.Field(0).Type()))
		return a.Interface()
	}
	return s.clone(v).Interface()
}

// arrayOf finds the ArrayOf type for a list. Its only field is the list.
func arrayOf(list reflect.Type) (reflect.Type, bool) {
	name := strings.TrimPrefix(list.Elem().Name(), "Base")
	switch list.Elem().Kind() {
	case reflect.Uint8:
		name = "Byte"
	case reflect.Int16:
		name = "Short"
	case reflect.Int64:
		name = "Long"
	case reflect.Int32:
		if name == "int32" {
			name = "Int"
		}
	case reflect.String:
		if name == "string" {
			name = "String"
		}
	case reflect.Bool:
		name = "Boolean"
	case reflect.Float32:
		name = "Float"
	case reflect.Float64:
		name = "Double"
	}
	t, ok := types.TypeFunc()("ArrayOf" + name)
	if !ok || t.Kind() != reflect.Struct || t.NumField() != 1 || !list.ConvertibleTo(t.Field(0).Type) {
		return nil, false
	}
	return t, true
}

// clone copies a value so deeply that nothing is shared with the original.
func (s *schema) clone(v reflect.Value) reflect.Value {
	if s.isPlain(v.Type()) {
		// A value taken from an addressable field would follow its changes.
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		return c
	}
	c := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(s.clone(v.Elem()))
			c.Set(p)
		}
	case reflect.Interface:
		if !v.IsNil() {
			c.Set(s.clone(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			l := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			if s.isPlain(v.Type().Elem()) {
				reflect.Copy(l, v)
			} else {
				for i := range v.Len() {
					l.Index(i).Set(s.clone(v.Index(i)))
				}
			}
			c.Set(l)
		}
	case reflect.Struct:
		c.Set(v) // also what is unexported, such as in time.Time
		for i := range v.NumField() {
			if f := c.Field(i); f.CanSet() && !s.isPlain(f.Type()) {
				f.Set(s.clone(v.Field(i)))
			}
		}
	default:
		c.Set(v)
	}
	return c
}

// isPlain says whether copying a value of the type copies all of it.
func (s *schema) isPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return false
	case reflect.Struct:
		if isTime(t) {
			return true // its pointer is to a location, which never changes
		}
		if p, ok := s.plain.Load(t); ok {
			return p.(bool)
		}
		// Recursive types recurse through a pointer, list or interface, and
		// those end the search.
		plain := true
		for field := range t.Fields() {
			plain = plain && s.isPlain(field.Type)
		}
		s.plain.Store(t, plain)
		return plain
	}
	return true
}
