package fold

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Recent is how long a change is marked.
const Recent = 5 * time.Second

// Change is the recent change of a row.
type Change struct {
	// At is the time of the last change.
	At time.Time
	// Fields are the JSON names of the changed fields, sorted; nil for a new row.
	Fields []string
	// Gone means that the row was deleted.
	Gone bool
}

// Changed returns the recent change of a row; ok is false if there was none. Rows of the first sync are not new.
func (s *State) Changed(k world.Kind, key string) (Change, bool) {
	m := s.changes.by[k][key]
	if m == nil {
		return Change{}, false
	}
	c := Change{At: m.at, Gone: m.gone != nil}
	if m.newAt.IsZero() && !c.Gone {
		c.Fields = make([]string, len(m.fields))
		for i, f := range m.fields {
			c.Fields[i] = f.name
		}
		slices.Sort(c.Fields)
	}
	return c, true
}

// ChangedField reports whether one of the fields of a row, by JSON name, changed recently, or the row is new.
func (s *State) ChangedField(k world.Kind, key string, fields ...string) bool {
	m := s.changes.by[k][key]
	switch {
	case m == nil || m.gone != nil:
		return false
	case !m.newAt.IsZero():
		return true
	}
	return slices.ContainsFunc(m.fields, func(f changedField) bool { return slices.Contains(fields, f.name) })
}

// Gone returns the recently deleted rows of a kind, by name.
func (s *State) Gone(k world.Kind) []world.Row {
	var rows []world.Row
	for _, m := range s.changes.by[k] {
		if m.gone != nil {
			rows = append(rows, *m.gone)
		}
	}
	slices.SortFunc(rows, func(a, b world.Row) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key)) })
	return rows
}

// changes are the recent changes, by row.
type changes struct {
	by     map[world.Kind]map[string]*mark
	queue  []noted // oldest first; all last equally long
	differ differ
}

// mark is what happened to one row.
type mark struct {
	at     time.Time // last
	newAt  time.Time // zero for a row that was there before
	fields []changedField
	gone   *world.Row
}

type changedField struct {
	name string
	at   time.Time
}

type noted struct {
	at   time.Time
	kind world.Kind
	key  string
}

func newChanges() *changes {
	return &changes{by: map[world.Kind]map[string]*mark{}, differ: differ{}}
}

// note compares the old and the new row; either may be missing.
func (c *changes) note(at time.Time, was, is world.Row, before, after bool) {
	var fields []string
	if before && after {
		if fields = c.differ.fields(was.Value, is.Value); len(fields) == 0 {
			return
		}
	}
	marks := c.by[is.Kind]
	if marks == nil {
		marks = map[string]*mark{}
		c.by[is.Kind] = marks
	}
	m := marks[is.Key]
	if m == nil || before != after {
		m = &mark{}
		marks[is.Key] = m
	}
	m.at = at
	switch {
	case !before:
		m.newAt = at
	case !after:
		m.gone = &was
	default:
		for _, name := range fields {
			i := slices.IndexFunc(m.fields, func(f changedField) bool { return f.name == name })
			if i < 0 {
				i, m.fields = len(m.fields), append(m.fields, changedField{name: name})
			}
			m.fields[i].at = at
		}
	}
	c.queue = append(c.queue, noted{at, is.Kind, is.Key})
}

// expire drops changes that are not recent any more, and returns their kinds.
func (c *changes) expire(now time.Time) (kinds []world.Kind) {
	for len(c.queue) > 0 && now.Sub(c.queue[0].at) >= Recent {
		n := c.queue[0]
		c.queue = c.queue[1:]
		m := c.by[n.kind][n.key]
		if m == nil {
			continue
		}
		if !slices.Contains(kinds, n.kind) {
			kinds = append(kinds, n.kind)
		}
		if now.Sub(m.at) >= Recent {
			delete(c.by[n.kind], n.key)
			continue
		}
		if now.Sub(m.newAt) >= Recent {
			m.newAt = time.Time{}
		}
		m.fields = slices.DeleteFunc(m.fields, func(f changedField) bool { return now.Sub(f.at) >= Recent })
	}
	if len(c.queue) == 0 {
		c.queue = nil
	}
	return kinds
}

// next returns when the next mark fades; zero for never.
func (c *changes) next() time.Time {
	if len(c.queue) == 0 {
		return time.Time{}
	}
	return c.queue[0].at.Add(Recent)
}

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
