package property

import (
	"reflect"
)

// reading is what reading a path came to.
type reading int

const (
	found   reading = iota // there is a value
	unset                  // the property exists and is not set
	invalid                // the object's type has no such property
)

// read takes a copy of the value at a path of a managed object, in the form in
// which it goes over the wire: lists as ArrayOf types, nothing behind pointers.
// The object must be locked; the copy outlives the lock.
//
// What is unset and what is invalid follows govmomi/simulator
// (property_collector.go, fieldValue and fieldValueKey).
func (s *schema) read(obj reflect.Value, p *path) (any, reading) {
	if !p.valid {
		return nil, invalid
	}
	v, r := s.walk(obj, p.base)
	if r != found {
		return nil, r
	}
	if p.key == nil {
		return s.result(v)
	}
	if v, r = indexed(v, p.key); r != found {
		return nil, r
	}
	if len(p.item) != 0 {
		if v, r = s.walk(v, p.item); r != found {
			return nil, r
		}
	}
	return s.result(v)
}

func (s *schema) result(v reflect.Value) (any, reading) {
	val := s.export(v)
	if val == nil {
		return nil, unset
	}
	return val, found
}

// walk follows field names from a struct.
func (s *schema) walk(v reflect.Value, names []string) (reflect.Value, reading) {
	for _, name := range names {
		for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, unset
			}
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return v, invalid // a field of a list or of a scalar
		}
		index, ok := s.field(v.Type(), name)
		if !ok {
			return v, invalid
		}
		var err error
		if v, err = v.FieldByIndexErr(index); err != nil || isUnset(v) {
			return v, unset
		}
	}
	return v, found
}

// indexed finds the element of a list by its Key field.
func indexed(list reflect.Value, key any) (reflect.Value, reading) {
	if list.Kind() != reflect.Slice {
		return list, invalid
	}
	for i := range list.Len() {
		v := list.Index(i)
		for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, invalid
			}
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return v, invalid
		}
		f := v.FieldByName("Key")
		if !f.IsValid() || !f.Comparable() || f.Type() != reflect.TypeOf(key) {
			return v, invalid
		}
		if f.Interface() == key {
			return v, found
		}
	}
	return reflect.Value{}, unset
}

// isUnset says whether a field counts as not set. Numbers, booleans and lists
// are always set.
func isUnset(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return v.IsNil()
	case reflect.String:
		return v.Len() == 0
	}
	return false
}
