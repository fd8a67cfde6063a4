package tree

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// field is what NSX accepts in a field. Its methods return changed copies.
type field struct {
	// read returns the value of a JSON value, or what is wrong with it.
	read func(any) (any, error)
	// standard is the value of a field that is not set; nil for none.
	standard any
	must     bool
	// paths are the patterns of the objects that the field may name, if it is a path or a list of them.
	paths []string
}

func (f field) or(standard any) field {
	if n, ok := standard.(int); ok {
		standard = int64(n)
	}
	f.standard = standard
	return f
}

func (f field) needed() field {
	f.must = true
	return f
}

// and returns the fields with others, which replace those of the same name.
func (f fields) and(more fields) fields {
	all := maps.Clone(f)
	maps.Copy(all, more)
	return all
}

func anything() field { return field{read: func(v any) (any, error) { return v, nil }} }

func text() field { return limited(0) }

// limited is a text of that many characters at most; 0 for any number.
func limited(most int) field {
	return field{read: func(v any) (any, error) {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("must be a string")
		}
		if most > 0 && utf8.RuneCountInString(s) > most {
			return nil, fmt.Errorf("has more than %d characters", most)
		}
		return s, nil
	}}
}

func truth() field {
	return field{read: func(v any) (any, error) {
		if b, ok := v.(bool); ok {
			return b, nil
		}
		return nil, fmt.Errorf("must be true or false")
	}}
}

func number(least, most int64) field {
	return field{read: func(v any) (any, error) {
		n, err := whole(v)
		if err != nil {
			return nil, err
		}
		if n < least || n > most {
			return nil, fmt.Errorf("must be between %d and %d", least, most)
		}
		return n, nil
	}}
}

func whole(v any) (int64, error) {
	switch v := v.(type) {
	case int64:
		return v, nil
	case int:
		return int64(v), nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("must be an integer")
}

// checked is a text that a function accepts.
func checked(what string, good func(string) bool) field {
	return field{read: func(v any) (any, error) {
		s, ok := v.(string)
		if !ok || !good(s) {
			return nil, fmt.Errorf("must be %s", what)
		}
		return s, nil
	}}
}

func choice(words ...string) field {
	return checked("one of "+strings.Join(words, ", "), func(s string) bool { return slices.Contains(words, s) })
}

func address() field {
	return checked("an IP address", func(s string) bool {
		_, err := netip.ParseAddr(s)
		return err == nil
	})
}

func prefix() field {
	return checked("a network such as 10.0.0.0/24", func(s string) bool {
		_, err := netip.ParsePrefix(s)
		return err == nil
	})
}

// portRange is 80 or 8000-8010.
func portRange() field {
	return checked("a port, or a range of ports such as 8000-8010", func(s string) bool {
		_, _, ok := portsOf(s)
		return ok
	})
}

func portsOf(s string) (first, last uint64, ok bool) {
	from, to, two := strings.Cut(s, "-")
	first, err := strconv.ParseUint(from, 10, 16)
	if err != nil || first == 0 {
		return 0, 0, false
	}
	if !two {
		return first, first, true
	}
	last, err = strconv.ParseUint(to, 10, 16)
	return first, last, err == nil && last >= first
}

// path is the path of an object of one of the kinds, which must exist.
func path(patterns ...string) field {
	f := text()
	f.paths = patterns
	return f
}

func list(of field) field {
	return field{paths: of.paths, read: func(v any) (any, error) {
		in, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("must be a list")
		}
		out := make([]any, len(in))
		for i, v := range in {
			var err error
			if out[i], err = of.read(v); err != nil {
				return nil, fmt.Errorf("[%d] %w", i, err)
			}
		}
		return out, nil
	}}
}

func group(of fields) field {
	return field{read: func(v any) (any, error) {
		in, ok := v.(Object)
		if !ok {
			return nil, fmt.Errorf("must be an object")
		}
		out, problems := of.read(in)
		if len(problems) > 0 {
			return nil, fmt.Errorf("%s", strings.Join(problems, "; "))
		}
		return out, nil
	}}
}

// read returns the object with defaults, or what is wrong with it. A field that is null is not set.
func (f fields) read(in Object) (out Object, problems []string) {
	out = Object{}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		f, known := f[name]
		if in[name] == nil {
			continue
		}
		if !known {
			problems = append(problems, name+" is no field of this object")
			continue
		}
		v, err := f.read(in[name])
		if err != nil {
			problems = append(problems, name+" "+err.Error())
			continue
		}
		out[name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if out[name] != nil {
			continue
		}
		if f[name].standard != nil {
			out[name] = f[name].standard
		} else if f[name].must && in[name] == nil {
			problems = append(problems, name+" is required")
		}
	}
	return out, problems
}

// commonFields are those of every object that a client writes.
func commonFields() fields {
	return fields{
		"id": limited(255), fieldName: limited(255), "description": limited(1024), fieldType: text(),
		"tags": list(group(fields{"scope": limited(128).or(""), "tag": limited(256).or("")})),
	}
}

// maxTags is the number of tags that an object may have.
const maxTags = 30

// ignored are fields that a client may send back and that only NSX sets.
func ignored(name string) bool {
	switch name {
	case "children", "marked_for_delete", "overridden", "owner_id", "origin_site_id", "parent_path", "path", "pool_usage", "allocated_ip",
		"realization_id", "relative_path", "remote_path", "unique_id":
		return true
	}
	return strings.HasPrefix(name, "_")
}
