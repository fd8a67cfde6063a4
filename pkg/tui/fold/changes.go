package fold

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/world"
)

// Recent is how long a change is marked.
const Recent = 5 * time.Second

// Change is what changed of a row.
type Change struct {
	At time.Time
	// Fields are the names in JSON of what is not as it was; nil for a row that is new.
	Fields []string
	// Gone: the row is not there any more.
	Gone bool
}

// changes are those of a moment ago, by row.
type changes struct {
	by map[world.Kind]map[string]Change
}

func newChanges() changes { return changes{by: map[world.Kind]map[string]Change{}} }

// note remembers what an update is about to change.
func (c *changes) note(at time.Time, _ *world.World, row world.Row, gone bool) {
	if c.by[row.Kind] == nil {
		c.by[row.Kind] = map[string]Change{}
	}
	c.by[row.Kind][row.Key] = Change{At: at, Gone: gone}
}

// Changed is what changed of a row in the last moments; ok is false when nothing did.
func (s *State) Changed(k world.Kind, key string) (Change, bool) {
	c, ok := s.changes.by[k][key]
	return c, ok && s.now.Sub(c.At) < Recent
}

// ChangedField tells whether one of the fields of a row, by their names in JSON, changed in the last moments, or the row
// is new.
func (s *State) ChangedField(k world.Kind, key string, fields ...string) bool {
	c, ok := s.Changed(k, key)
	if !ok || c.Gone {
		return false
	}
	if c.Fields == nil {
		return true
	}
	for _, f := range c.Fields {
		for _, want := range fields {
			if f == want {
				return true
			}
		}
	}
	return false
}
