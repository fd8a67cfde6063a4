package fold

import (
	"cmp"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Recent is how long a change is marked.
const Recent = 5 * time.Second

// Change is what changed of a row.
type Change struct {
	// At is when it changed last.
	At time.Time
	// Fields are the names in JSON of what is not as it was, sorted; nil for a row that is new.
	Fields []string
	// Gone: the row is not there any more.
	Gone bool
}

// Changed is what changed of a row in the last moments; ok is false when nothing did. What there was when the state became
// known is not new.
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

// ChangedField reports whether one of the fields of a row, by their names in JSON, changed in the last moments, or the row
// is new.
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

// Gone are the rows of a kind that went in the last moments, as they were, by name.
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

// changes are the marks of a moment ago, by row.
type changes struct {
	by     map[world.Kind]map[string]*mark
	queue  []noted // what was noted, oldest first; each lasts as long
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

// note compares a row with what it was, as far as it was and is there.
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

// expire forgets what is not recent any more, and returns the kinds of it.
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

// next is when the next mark goes; zero for never.
func (c *changes) next() time.Time {
	if len(c.queue) == 0 {
		return time.Time{}
	}
	return c.queue[0].at.Add(Recent)
}
