package world

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Row is one thing there is. Its value is one of package api's structs, and is not to be changed.
type Row struct {
	Kind Kind
	// Key is unique among rows of its kind, and stays the same as long as the object exists.
	Key string
	// Name is what people call it: us/worker-1 where names repeat between vCenters.
	Name  string
	Value any
}

// Names are all that it may be called.
func (r Row) Names() []string {
	switch v := r.Value.(type) {
	case api.VM:
		names := []string{v.Name, v.VCenter + "/" + v.Name, v.Path, v.VCenter + v.Path}
		if v.Hostname != "" && v.Hostname != v.Name {
			names = append(names, v.Hostname)
		}
		return names
	case api.Host:
		return []string{v.Name, v.VCenter + "/" + v.Name}
	case api.Lease:
		return []string{v.ID, v.Fault}
	case api.Attachment:
		return []string{v.Name, v.Volume + "/" + v.Node}
	case api.Service:
		_, name, _ := strings.Cut(v.Name, "/")
		return []string{v.Name, name}
	case api.VirtualMachine:
		return []string{r.Name, v.Name}
	case api.VirtualMachineService:
		return []string{r.Name, v.Name}
	case api.Volume:
		_, claim, _ := strings.Cut(v.Claim, "/")
		return slices.DeleteFunc([]string{v.Claim, claim, v.Name, v.Handle, v.CNSName}, func(name string) bool { return name == "" })
	}
	return []string{r.Name}
}

// Exists reports whether there is the thing itself: a VM that should be a node has a row of that kind before it is one.
func (r Row) Exists() bool {
	n, isNode := r.Value.(api.Node)
	return !isNode || n.Registered
}

// Field is a field of a kind of rows.
type Field struct {
	Name string
	// List and Map tell of more than one value: texts, and texts by key.
	List, Map bool
	// Bool and Number tell what its text looks like.
	Bool, Number bool

	index []int
}

// Fields lists the fields of a kind that can be compared: texts, numbers, truth values, times, and lists and maps of text.
func (k Kind) Fields() []Field {
	t := k.typ()
	if t == nil {
		return nil
	}
	var all []Field
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || k == VCenter && name == "calls" { // one more call is no change to report
			continue
		}
		field := Field{Name: name, index: f.Index}
		switch f.Type.Kind() {
		case reflect.Slice:
			if field.List = true; f.Type.Elem().Kind() != reflect.String {
				continue
			}
		case reflect.Map:
			if field.Map = true; f.Type.Elem().Kind() != reflect.String {
				continue
			}
		case reflect.Bool:
			field.Bool = true
		case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
			field.Number = f.Type != reflect.TypeFor[api.Duration]()
		case reflect.Struct, reflect.Pointer:
			if f.Type != reflect.TypeFor[time.Time]() {
				continue
			}
		}
		all = append(all, field)
	}
	return all
}

// Field finds a field of a kind.
func (k Kind) Field(name string) (Field, bool) {
	fields := k.Fields()
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}

// Text is the value of a field as text: "" for what is not set, yes and no for truth values.
func (r Row) Text(f Field) string { return text(reflect.ValueOf(r.Value).FieldByIndex(f.index)) }

// List is the values of a list.
func (r Row) List(f Field) []string {
	v := reflect.ValueOf(r.Value).FieldByIndex(f.index)
	all := make([]string, v.Len())
	for i := range all {
		all[i] = text(v.Index(i))
	}
	return all
}

// Map is the value of a map.
func (r Row) Map(f Field) map[string]string {
	v := reflect.ValueOf(r.Value).FieldByIndex(f.index)
	all := make(map[string]string, v.Len())
	for i := v.MapRange(); i.Next(); {
		all[i.Key().String()] = text(i.Value())
	}
	return all
}

func text(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case bool:
		if value {
			return "yes"
		}
		return "no"
	case time.Time:
		if value.IsZero() {
			return ""
		}
		return value.UTC().Format(time.RFC3339)
	case api.Duration:
		return time.Duration(value).String()
	case encoding.TextMarshaler:
		b, _ := value.MarshalText() // only times have errors, which are above
		return string(b)
	}
	return fmt.Sprint(v.Interface())
}
