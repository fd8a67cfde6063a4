package store

import (
	"reflect"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// scrub copies a value with every text of it replaced.
func scrub[T any](s *scrubber, v T) T {
	out := reflect.New(reflect.TypeFor[T]()).Elem()
	out.Set(s.copy(reflect.ValueOf(&v).Elem(), ""))
	return out.Interface().(T)
}

// copy copies a value; field is the name of the field that it is in. Only plain strings are replaced: a string of another
// type is one of a fixed set.
func (s *scrubber) copy(v reflect.Value, field string) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			return reflect.ValueOf(s.text(field, v.String()))
		}
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type()).Elem()
		inner := s.copy(v.Elem(), field)
		if v.Kind() == reflect.Pointer {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(inner)
			inner = p
		}
		out.Set(inner)
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		if secret(field) {
			return reflect.Zero(v.Type())
		}
		out := reflect.MakeSlice(v.Type(), 0, v.Len())
		for i := range v.Len() {
			if !hidden(v.Index(i)) {
				out = reflect.Append(out, s.copy(v.Index(i), field))
			}
		}
		return out
	case reflect.Struct:
		return s.fields(v)
	}
	return v
}

func (s *scrubber) fields(v reflect.Value) reflect.Value {
	switch v.Type() {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[vc.Ref]():
		return v
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	name := ""
	if p, ok := reflect.TypeAssert[types.DynamicProperty](v); ok {
		name = p.Name[strings.LastIndexByte(p.Name, '.')+1:]
	}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			within := f.Name
			if name != "" {
				if within == "Name" {
					continue // of the property
				}
				within = name
			}
			out.Field(i).Set(s.copy(v.Field(i), within))
		}
	}
	return out
}

// hidden tells whether an element of a list is left out: what cloud-init and the like are told through variables of the
// guest is full of addresses and passwords, and encoded.
func hidden(v reflect.Value) bool {
	o, ok := reflect.TypeAssert[types.BaseOptionValue](v)
	return ok && strings.HasPrefix(strings.ToLower(o.GetOptionValue().Key), "guestinfo.")
}

// secret tells whether a field is left empty.
func secret(field string) bool {
	switch strings.ToLower(field) {
	case "annotation", "certificate", "sslthumbprint", "sslcertificate", "thumbprint", "licensekey", "editionkey", "encryptionkey", "pemdata":
		return true
	}
	return false
}
