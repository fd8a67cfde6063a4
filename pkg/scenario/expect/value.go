package expect

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Value is a condition on a field.
type Value struct {
	// Texts: a text or number equals one of them; a list has all of them; no texts mean that it is empty.
	Texts []string
	// Not negates the condition.
	Not *Value
	// Map has the conditions on the keys of a map.
	Map map[string]*Value
}

// read parses a condition on a field.
func (v *Value) read(r *strict.Reader, node *yaml.Node, path string, field world.Field) {
	switch {
	case strict.IsNull(node): // must be empty
	case node.Kind == yaml.ScalarNode:
		v.Texts = []string{node.Value}
	case node.Kind == yaml.SequenceNode:
		r.Decode(node, &v.Texts, path)
	case field.Map:
		v.Map = map[string]*Value{}
		r.Keys(node, path, func(key, value *yaml.Node, below string) {
			one := &Value{}
			one.read(r, value, below, world.Field{Name: key.Value})
			v.Map[key.Value] = one
		})
		return
	default:
		if _, not := strict.Find(node, "not"); not != nil && len(node.Content) == 2 {
			v.Not = &Value{}
			v.Not.read(r, not, strict.Below(path, "not"), field)
			return
		}
		r.Errorf(node, path, "must be a value, a list of values, or not: VALUE")
		return
	}
	for _, text := range v.Texts {
		v.check(r, node, path, field, text)
	}
}

// check reports a text that the field can never have.
func (v *Value) check(r *strict.Reader, node *yaml.Node, path string, field world.Field, text string) {
	switch {
	case strict.IsLate(text):
	case field.Map:
		r.Errorf(node, path, "must be a mapping (key: value), not %q", text)
	case field.Bool:
		if _, ok := strict.Truth(text); !ok {
			r.Errorf(node, path, "must be yes or no, not %q", text)
		}
	case field.Number:
		if _, err := ParseCount(text); err != nil {
			r.Errorf(node, path, "%v", err)
		}
	default:
		if _, err := pattern(text); err != nil {
			r.Errorf(node, path, "%v", err)
		}
	}
}

// matches reports whether a row's field has the value.
func (v *Value) matches(row world.Row, f world.Field) bool {
	switch {
	case v.Not != nil:
		return !v.Not.matches(row, f)
	case f.Map:
		m := row.Map(f)
		if len(v.Map) == 0 {
			return len(m) == 0
		}
		for key, want := range v.Map {
			if got, there := m[key]; !want.entry(got, there) {
				return false
			}
		}
		return true
	case f.List:
		return v.list(row.List(f), f.Name == "taints")
	case f.Bool:
		got := row.Text(f) == "yes"
		return slices.ContainsFunc(v.Texts, func(text string) bool { want, _ := strict.Truth(text); return want == got })
	case f.Number:
		n, _ := strconv.ParseFloat(row.Text(f), 64)
		return slices.ContainsFunc(v.Texts, func(text string) bool { c, err := ParseCount(text); return err == nil && c.Has(n) })
	}
	return v.text(row.Text(f), f.Name == "ready") // True is a boolean in YAML and a string in Kubernetes
}

func (v *Value) text(got string, fold bool) bool {
	if v.Not != nil {
		return !v.Not.text(got, fold)
	}
	if len(v.Texts) == 0 {
		return got == ""
	}
	return slices.ContainsFunc(v.Texts, func(text string) bool { return fold && strings.EqualFold(text, got) || Match(text, got) })
}

// entry reports whether a map has the value at a key. Without texts the key must be absent; "" is an empty value.
func (v *Value) entry(got string, there bool) bool {
	switch {
	case v.Not != nil:
		return !v.Not.entry(got, there)
	case len(v.Texts) == 0:
		return !there
	}
	return there && v.text(got, false)
}

// list reports whether a list has all of the texts. A taint matches by its key too. An expectation of no taints ignores the one
// by which some grounds keep pods off their light nodes.
func (v *Value) list(got []string, taints bool) bool {
	if len(v.Texts) == 0 {
		return !slices.ContainsFunc(got, func(one string) bool { return !taints || taintKey(one) != feed.LightKey })
	}
	return !slices.ContainsFunc(v.Texts, func(text string) bool {
		return !slices.ContainsFunc(got, func(one string) bool { return Match(text, one) || taints && Match(text, taintKey(one)) })
	})
}

// taintKey returns the key of key[=value]:effect.
func taintKey(taint string) string {
	if i := strings.IndexAny(taint, "=:"); i >= 0 {
		return taint[:i]
	}
	return taint
}

// String returns the text form.
func (v *Value) String() string {
	switch {
	case v.Not != nil:
		return "not " + v.Not.String()
	case v.Map != nil:
		var parts []string
		for _, key := range sortedKeys(v.Map) {
			parts = append(parts, key+"="+v.Map[key].String())
		}
		return strings.Join(parts, ",")
	case len(v.Texts) == 0:
		return "none"
	case len(v.Texts) == 1 && v.Texts[0] == "":
		return `""`
	}
	return strings.Join(v.Texts, ",")
}

// Match reports whether a text matches a pattern: * is anything, ? one character, and /…/ a regular expression.
func Match(pat, text string) bool {
	re, err := pattern(pat)
	switch {
	case err != nil:
		return false
	case re != nil:
		return re.MatchString(text)
	}
	return glob.Match(pat, text)
}

// pattern returns the expression of /…/, and nil for other texts.
func pattern(text string) (*regexp.Regexp, error) {
	if len(text) > 2 && text[0] == '/' && text[len(text)-1] == '/' {
		return regexp.Compile(text[1 : len(text)-1])
	}
	return nil, nil
}

// IsPattern reports whether a text is more than a name.
func IsPattern(text string) bool {
	return glob.IsPattern(text) || len(text) > 2 && text[0] == '/' && text[len(text)-1] == '/'
}

// Count is a condition on a number: 3, ">= 2", "< 10", "!= 0".
type Count struct {
	Op string
	N  float64
}

// ParseCount parses a condition.
func ParseCount(text string) (Count, error) {
	rest := strings.TrimSpace(text)
	c := Count{Op: "="}
	for _, op := range []string{">=", "<=", "!=", "==", ">", "<", "="} {
		if after, ok := strings.CutPrefix(rest, op); ok {
			if c.Op = op; op == "==" {
				c.Op = "="
			}
			rest = strings.TrimSpace(after)
			break
		}
	}
	n, err := strconv.ParseFloat(rest, 64)
	if err != nil || n != n {
		return Count{}, fmt.Errorf(`must be a number, or one with >=, <=, >, < or != before it, not %q`, text)
	}
	c.N = n
	return c, nil
}

// DecodeYAML parses a condition.
func (c *Count) DecodeYAML(r *strict.Reader, node *yaml.Node, path string) {
	if node.Kind != yaml.ScalarNode {
		r.Errorf(node, path, "must be a number, not %s", strict.Describe(node))
		return
	}
	if strict.IsLate(node.Value) {
		return
	}
	parsed, err := ParseCount(node.Value)
	if err != nil {
		r.Errorf(node, path, "%v", err)
		return
	}
	*c = parsed
}

// Has reports whether a number is within the count.
func (c Count) Has(n float64) bool {
	switch c.Op {
	case ">=":
		return n >= c.N
	case "<=":
		return n <= c.N
	case ">":
		return n > c.N
	case "<":
		return n < c.N
	case "!=":
		return n != c.N
	}
	return n == c.N
}

// String returns the text form.
func (c Count) String() string {
	n := strconv.FormatFloat(c.N, 'f', -1, 64)
	if c.Op == "=" || c.Op == "" {
		return n
	}
	return c.Op + " " + n
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
