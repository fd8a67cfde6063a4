package topology

import (
	"reflect"
	"strconv"
	"strings"
)

// field is a key of a mapping: where its value goes in the struct, and whether it may be left out.
type field struct {
	name     string
	index    []int
	optional bool
	bounds   bounds
}

// bounds are what a field takes beyond what its type says, from its tags min:"0" (numbers and sizes that may be nothing)
// and max:"65536" (bytes of text).
type bounds struct {
	zero bool
	most int
}

// record is a struct seen as a mapping, in the order of its fields.
type record struct {
	fields []field
	byName map[string]field
	names  []string
}

// records remembers what has been worked out about each struct type, for one reading or writing.
type records map[reflect.Type]*record

// of reads the json tags of t, those of embedded structs as if they were t's own.
func (r records) of(t reflect.Type) *record {
	if known, ok := r[t]; ok {
		return known
	}
	made := &record{byName: map[string]field{}}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" {
			continue
		}
		one := field{name: name, index: f.Index, optional: strings.HasPrefix(options, "omit"), bounds: boundsOf(f.Tag)}
		made.fields = append(made.fields, one)
		made.byName[name] = one
		made.names = append(made.names, name)
	}
	r[t] = made
	return made
}

func boundsOf(tag reflect.StructTag) bounds {
	b := bounds{zero: tag.Get("min") == "0", most: maxText}
	if n, err := strconv.Atoi(tag.Get("max")); err == nil {
		b.most = n
	}
	return b
}
