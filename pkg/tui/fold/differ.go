package fold

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// differ compares rows field by field. It caches the fields of each type.
type differ map[reflect.Type][]rowField

type rowField struct {
	name  string // in JSON
	index int
}

// fields returns the JSON names of the fields that differ between a and b, of one type. It ignores the number of calls of a
// vCenter, which changes all the time.
func (d differ) fields(a, b any) (names []string) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for _, f := range d.of(x.Type()) {
		if !same(x.Field(f.index), y.Field(f.index)) {
			names = append(names, f.name)
		}
	}
	return names
}

func (d differ) of(t reflect.Type) []rowField {
	if fields, known := d[t]; known {
		return fields
	}
	fields := []rowField{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" || name == "calls" {
			continue
		}
		fields = append(fields, rowField{name, i})
	}
	d[t] = fields
	return fields
}

// same compares two values of one type. Empty lists and maps equal nil ones, and times are compared as instants.
func same(x, y reflect.Value) bool {
	switch x.Kind() {
	case reflect.String:
		return x.String() == y.String()
	case reflect.Bool:
		return x.Bool() == y.Bool()
	case reflect.Int, reflect.Int64:
		return x.Int() == y.Int()
	case reflect.Uint64:
		return x.Uint() == y.Uint()
	case reflect.Slice, reflect.Map:
		if x.Len() != y.Len() {
			return false
		}
		return x.Len() == 0 || x.Pointer() == y.Pointer() || sameElements(x.Interface(), y.Interface())
	case reflect.Pointer:
		if x.IsNil() || y.IsNil() {
			return x.IsNil() == y.IsNil()
		}
		return same(x.Elem(), y.Elem())
	}
	if at, ok := reflect.TypeAssert[time.Time](x); ok {
		return at.Equal(y.Interface().(time.Time))
	}
	return reflect.DeepEqual(x.Interface(), y.Interface())
}

// sameElements compares lists and maps. Nearly all have strings.
func sameElements(x, y any) bool {
	switch x := x.(type) {
	case []string:
		return slices.Equal(x, y.([]string))
	case map[string]string:
		return maps.Equal(x, y.(map[string]string))
	}
	return reflect.DeepEqual(x, y)
}
