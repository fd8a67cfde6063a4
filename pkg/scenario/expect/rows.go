package expect

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Rows is a statement about objects: nodes, VMs, volumes.
type Rows struct {
	Kind world.Kind
	// Names are names or patterns; each must match an object. Where selects by fields instead.
	Names []string
	Where []Fielded
	// Fields are the conditions on all selected objects.
	Fields []Fielded
	// NoTaints are taints that nodes must not have.
	NoTaints []string
	// Count is how many of the selected must meet the conditions, instead of all.
	Count *Count
	// Exists, if false, expects no row.
	Exists *bool

	nodes map[string]*yaml.Node
	// restarts are those of components that do not count, as they came before.
	restarts map[string]int
}

// from returns the statement with restarts counted from the mark.
func (s *Rows) from(m Marks) *Rows {
	if s.Kind != world.Component {
		return s
	}
	counted := *s
	if mark := m(SinceProcess); mark != nil {
		counted.restarts = mark.Restarts
	}
	return &counted
}

// rowsOf returns the current rows, those of components with the restarts that count. A program that took the place of another one has
// begun at 0.
func (s *Rows) rowsOf(w *world.World) []world.Row {
	rows := w.Rows(s.Kind)
	if len(s.restarts) == 0 {
		return rows
	}
	rows = slices.Clone(rows)
	for i, row := range rows {
		if c := row.Value.(api.Component); c.Restarts >= s.restarts[c.Name] {
			c.Restarts -= s.restarts[c.Name]
			rows[i].Value = c
		}
	}
	return rows
}

// Fielded is a field with its expected value.
type Fielded struct {
	world.Field
	Value *Value
}

// Keys returns the keys of a kind other than its fields.
func (s *Rows) keys() []string {
	known := []string{"exists", "count"}
	if s.Kind == world.Node {
		known = append(known, "noTaints")
	}
	for _, f := range s.Kind.Fields() {
		known = append(known, f.Name)
	}
	return known
}

// read parses the whole mapping; one key is the subject.
func (s *Rows) read(r *strict.Reader, node *yaml.Node, path string) {
	first := true
	r.Keys(node, path, func(key, value *yaml.Node, below string) {
		switch {
		case first && key.Value == string(s.Kind), key.Value == string(s.Kind) && !s.isField(key.Value):
			first = false
			s.choose(r, value, below)
		case key.Value == "exists":
			s.Exists = new(bool)
			r.Decode(value, s.Exists, below)
		case key.Value == "count":
			s.Count = &Count{}
			r.Decode(value, s.Count, below)
		case key.Value == "noTaints" && s.Kind == world.Node:
			s.NoTaints = r.Texts(value, below)
		default:
			if f, ok := s.field(r, key, value, below); ok {
				s.Fields = append(s.Fields, f)
			}
		}
	})
	if s.Exists != nil && s.Count != nil {
		r.Errorf(node, path, "has both exists and count: remove one")
	}
}

func (s *Rows) isField(name string) bool { _, ok := s.Kind.Field(name); return ok }

// choose parses the subject: a name, a list of names, all, or fields.
func (s *Rows) choose(r *strict.Reader, node *yaml.Node, path string) {
	if node.Kind == yaml.MappingNode {
		r.Keys(node, path, func(key, value *yaml.Node, below string) {
			if f, ok := s.field(r, key, value, below); ok {
				s.Where = append(s.Where, f)
			}
		})
		if len(s.Where) == 0 {
			r.Errorf(node, path, "chooses nothing")
		}
		return
	}
	s.Names = r.Texts(node, path)
	s.nodes = map[string]*yaml.Node{}
	if len(s.Names) == 0 {
		r.Errorf(node, path, "must be a name, a list of names, all, or fields that select objects")
	}
	for i, name := range s.Names {
		if s.nodes[name] = node; node.Kind == yaml.SequenceNode {
			s.nodes[name] = node.Content[i]
		}
		if name == "all" {
			s.Names[i] = "*"
		} else if _, err := pattern(name); err != nil {
			r.Errorf(node, path, "%v", err)
		} else if name == "" {
			r.Errorf(node, path, "must not be empty")
		}
	}
}

func (s *Rows) field(r *strict.Reader, key, value *yaml.Node, path string) (Fielded, bool) {
	f, ok := s.Kind.Field(key.Value)
	if !ok {
		r.Unknown(key, path, "field of a "+string(s.Kind), key.Value, s.keys())
		return Fielded{}, false
	}
	v := &Value{}
	v.read(r, value, path, f)
	return Fielded{f, v}, true
}

// NameNodes are the YAML nodes of the names, for checks against a topology.
func (s *Rows) NameNodes() map[string]*yaml.Node { return s.nodes }

// String returns a line: node worker-1: ready True, taints none.
func (s *Rows) String() string {
	var b strings.Builder
	b.WriteString(string(s.Kind) + " ")
	switch {
	case len(s.Names) == 1 && s.Names[0] == "*":
		b.WriteString("(all)")
	case len(s.Names) > 0:
		b.WriteString(strings.Join(s.Names, ", "))
	default:
		b.WriteString("(" + fielded(s.Where) + ")")
	}
	what := fielded(s.Fields)
	if len(s.NoTaints) > 0 {
		what = strings.TrimPrefix(what+", no taint "+strings.Join(s.NoTaints, ","), ", ")
	}
	switch {
	case s.Exists != nil && !*s.Exists:
		b.WriteString(" does not exist")
	case s.Exists != nil || what == "" && s.Count == nil:
		b.WriteString(" exists")
	}
	if s.Count != nil {
		b.WriteString(", count " + s.Count.String())
	}
	if what != "" {
		b.WriteString(": " + what)
	}
	return b.String()
}

func fielded(list []Fielded) string {
	texts := make([]string, len(list))
	for i, f := range list {
		texts[i] = f.Name + " " + f.Value.String()
	}
	return strings.Join(texts, ", ")
}

// rowsTracker evaluates the current rows.
type rowsTracker struct{ rows *Rows }

func (t *rowsTracker) DependsOn(k world.Kind) bool { return k == t.rows.Kind }

func (t *rowsTracker) Evaluate(v *View) Finding {
	s := t.rows
	chosen, missing := s.chosen(v.World)
	fit := 0
	for _, row := range chosen {
		if len(s.wrong(row)) == 0 {
			fit++
		}
	}
	switch {
	case s.Count != nil:
		return Finding{Met: s.Count.Has(float64(fit))}
	case s.Exists != nil && !*s.Exists:
		return Finding{Met: fit == 0}
	}
	return Finding{Met: len(missing) == 0 && len(chosen) > 0 && fit == len(chosen)}
}

// chosen returns the selected rows, and the names without a row.
func (s *Rows) chosen(w *world.World) (rows []world.Row, missing []string) {
	asked := slices.ContainsFunc(slices.Concat(s.Fields, s.Where), func(f Fielded) bool { return f.Name == "registered" })
	hits := make([]bool, len(s.Names))
	for _, row := range s.rowsOf(w) {
		if !asked && !row.Exists() {
			continue
		}
		hit := len(s.Names) == 0
		for i, name := range s.Names {
			if slices.ContainsFunc(row.Names(), func(own string) bool { return Match(name, own) }) {
				hits[i], hit = true, true
			}
		}
		if hit && len(wrong(row, s.Where)) == 0 {
			rows = append(rows, row)
		}
	}
	for i, name := range s.Names {
		if !hits[i] {
			missing = append(missing, name)
		}
	}
	return rows, missing
}

// wrong describes the conditions that a row does not meet.
func (s *Rows) wrong(row world.Row) []string {
	lines := wrong(row, s.Fields)
	if len(s.NoTaints) == 0 {
		return lines
	}
	f, _ := s.Kind.Field("taints")
	for _, taint := range row.List(f) {
		if slices.ContainsFunc(s.NoTaints, func(no string) bool { return Match(no, taint) || Match(no, taintKey(taint)) }) {
			lines = append(lines, "has the taint "+taint)
		}
	}
	return lines
}

func wrong(row world.Row, fields []Fielded) []string {
	var lines []string
	for _, f := range fields {
		if !f.Value.matches(row, f.Field) {
			lines = append(lines, fmt.Sprintf("%s is %s", f.Name, show(row, f)))
		}
	}
	return lines
}

// show returns the value of a field; of a map, the requested keys.
func show(row world.Row, f Fielded) string {
	var text string
	switch {
	case f.List:
		text = strings.Join(row.List(f.Field), ", ")
	case f.Map:
		m, parts := row.Map(f.Field), []string{}
		for _, key := range sortedKeys(m) {
			if v := f.Value; len(v.Map) == 0 || v.Map[key] != nil {
				parts = append(parts, key+"="+m[key])
			}
		}
		text = strings.Join(parts, ", ")
	default:
		text = row.Text(f.Field)
	}
	if text == "" {
		return "none"
	}
	return text
}

// maxRows is the maximum number of rows in a message.
const maxRows = 6

func (t *rowsTracker) Describe(v *View) []string {
	s := t.rows
	chosen, missing := s.chosen(v.World)
	var lines []string
	if s.Count != nil || s.Exists != nil && !*s.Exists {
		var fit []string
		for _, row := range chosen {
			if len(s.wrong(row)) == 0 {
				fit = append(fit, row.Name)
			}
		}
		lines = append(lines, fmt.Sprintf("there are %d%s", len(fit), names(fit)))
		if s.Count == nil {
			return lines
		}
	} else if len(missing) > 0 || len(chosen) == 0 {
		var there []string
		for _, row := range v.World.Rows(s.Kind) {
			if row.Exists() {
				there = append(there, row.Name)
			}
		}
		which := strings.Join(missing, ", ")
		if which == "" || which == "*" {
			which = "that matches"
		}
		lines = append(lines, fmt.Sprintf("there is no %s %s; there are %d%s", s.Kind, which, len(there), names(there)))
	}
	shown := 0
	for _, row := range chosen {
		bad := s.wrong(row)
		if len(bad) == 0 {
			continue
		}
		if shown++; shown > maxRows {
			lines = append(lines, "and others")
			break
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", s.Kind, row.Name, strings.Join(bad, "; ")))
	}
	if len(lines) == 0 {
		lines = append(lines, s.so(chosen))
	}
	return lines
}

// so describes what is true, for a never.
func (s *Rows) so(chosen []world.Row) string {
	var parts []string
	for _, row := range chosen[:min(len(chosen), maxRows)] {
		var are []string
		for _, f := range s.Fields {
			are = append(are, f.Name+" is "+show(row, f))
		}
		text := row.Name
		if are != nil {
			text += ": " + strings.Join(are, ", ")
		}
		parts = append(parts, text)
	}
	return string(s.Kind) + " " + strings.Join(parts, "; ")
}

func names(list []string) string {
	switch {
	case len(list) == 0:
		return ""
	case len(list) > maxRows:
		return ": " + strings.Join(list[:maxRows], ", ") + " …"
	}
	return ": " + strings.Join(list, ", ")
}

func (t *rowsTracker) RelatedEvents(v *View) []event.Event {
	chosen, _ := t.rows.chosen(v.World)
	meant := slices.Clone(t.rows.Names)
	for _, row := range chosen {
		meant = append(meant, row.Names()...)
		if v, ok := row.Value.(api.Volume); ok {
			meant = append(meant, v.Name+" at *") // of its attachments
		}
	}
	return related(v, slices.DeleteFunc(meant, func(name string) bool { return name == "*" }))
}
