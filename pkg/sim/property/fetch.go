package property

import (
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// fetchBody is the answer to Fetch, whose types vcsim does not export.
type fetchBody struct {
	Res    *fetchResponse `xml:"FetchResponse,omitempty"`
	Fault_ *soap.Fault    `xml:"http://schemas.xmlsoap.org/soap/envelope/ Fault,omitempty"`
}

type fetchResponse struct {
	Returnval types.AnyType `xml:"returnval,omitempty,typeattr"`
}

// Fault implements soap.HasFault.
func (b *fetchBody) Fault() *soap.Fault { return b.Fault_ }

// Fetch reads one property of the object that it is called on, as ovftool and
// the JSON protocol do: vcsim sends it here for every object. The request is of
// a type that only vcsim can name. The content of the service instance, which
// vcsim cuts down for ovftool, and calls without a session are left to vcsim.
func (pc *PropertyCollector) Fetch(ctx *simulator.Context, r any) soap.HasFault {
	v := reflect.ValueOf(r).Elem()
	this, _ := reflect.TypeAssert[types.ManagedObjectReference](v.FieldByName("This"))
	prop, _ := reflect.TypeAssert[string](v.FieldByName("Prop"))
	c := pc.state(ctx)
	if c == nil || this == vim25.ServiceInstance {
		out := reflect.ValueOf(&pc.PropertyCollector).MethodByName("Fetch").
			Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(r)})
		return out[0].Interface().(soap.HasFault)
	}
	this = c.service.specific(ctx, this)
	objects, fault := c.service.retrieve(ctx, []types.PropertyFilterSpec{{
		PropSet:   []types.PropertySpec{{Type: this.Type, PathSet: []string{prop}}},
		ObjectSet: []types.ObjectSpec{{Obj: this}},
	}})
	switch {
	case fault != nil:
		return &fetchBody{Fault_: soapFault(fault)}
	case len(objects) == 0:
		return &fetchBody{Fault_: soapFault(&types.ManagedObjectNotFound{Obj: this})}
	case len(objects[0].MissingSet) != 0:
		return &fetchBody{Fault_: soapFault(objects[0].MissingSet[0].Fault.Fault)}
	}
	body := &fetchBody{Res: new(fetchResponse)}
	if set := objects[0].PropSet; len(set) != 0 {
		body.Res.Returnval = set[0].Val
	}
	return body
}

// specific returns the object behind a reference that names a base type, such as ManagedEntity, as clients use with Fetch.
func (s *Service) specific(ctx *simulator.Context, ref types.ManagedObjectReference) types.ManagedObjectReference {
	if ctx.Session.Get(ref) != nil {
		return ref
	}
	for _, kind := range entityTypes() {
		own := types.ManagedObjectReference{Type: kind, Value: ref.Value}
		if ctx.Map.Get(own) != nil && s.schema.extends(kind, ref.Type) {
			return own
		}
	}
	return ref
}

// specificRoots returns specs that start from the objects behind references that name a base type, such as
// ComputeResource:domain-c9 for a cluster. A vCenter finds objects by their values, and answers with their own types.
func (s *Service) specificRoots(ctx *simulator.Context, specs []types.PropertyFilterSpec) []types.PropertyFilterSpec {
	own := slices.Clone(specs)
	for i := range own {
		set := slices.Clone(own[i].ObjectSet)
		for j := range set {
			set[j].Obj = s.specific(ctx, set[j].Obj)
		}
		own[i].ObjectSet = set
	}
	return own
}

// reading is the outcome of reading a path.
type reading int

const (
	found   reading = iota // the property has a value
	unset                  // the property exists without a value
	invalid                // the object's type has no such property
)

// read copies the value at a path of a managed object in its wire form: lists as ArrayOf types, no pointers. The object must be
// locked; the copy outlives the lock.
//
// Unset and invalid follow govmomi/simulator (property_collector.go, fieldValue and fieldValueKey).
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

// indexed returns the element of a list by its Key field.
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

// isUnset reports whether a field counts as unset. Numbers, booleans and lists are always set.
func isUnset(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return v.IsNil()
	case reflect.String:
		return v.Len() == 0
	}
	return false
}

// export copies a value for the wire: it follows pointers and interfaces, and wraps a list in its ArrayOf type. It returns nil
// for an unset value.
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

// arrayOf returns the ArrayOf type for a list. Its only field is the list.
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

// clone returns a deep copy.
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
		c.Set(v) // also unexported parts, such as in time.Time
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

// isPlain reports whether copying a value of the type copies all of it.
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
