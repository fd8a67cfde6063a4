package gate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// maxRules bounds the size of a text with rules.
const maxRules = 1 << 20

// ParseRules reads rules from YAML or JSON: a list of rules, or one rule. Everything that is wrong is told, one error
// (joined by [errors.Join]) for each, as "name:line: match.methods[0]: …". Fields that do not exist, methods, faults,
// errors and types of objects that the API does not have are wrong.
func ParseRules(name string, data []byte) ([]Rule, error) {
	if len(data) > maxRules {
		return nil, fmt.Errorf("%s: longer than %d bytes", name, maxRules)
	}
	root, err := parse(data)
	if err != nil {
		return nil, yamlError(name, err)
	}
	nodes := []*yaml.Node{root}
	if root.Kind == yaml.SequenceNode {
		nodes = root.Content
	}
	var rules []Rule
	var wrong []error
	for _, n := range nodes {
		r, d := decodeRule(n)
		rules = append(rules, r)
		for _, p := range d.found {
			wrong = append(wrong, fmt.Errorf("%s:%d: %w", name, d.line(p.at, n.Line), p))
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return rules, nil
}

// parse returns the root of the only document.
func parse(data []byte) (*yaml.Node, error) {
	if json.Valid(data) {
		// JSON may be indented with tabs, YAML may not; inside of its strings there are none.
		data = bytes.ReplaceAll(data, []byte("\t"), []byte(" "))
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	if err := d.Decode(&document); err == io.EOF || err == nil && len(document.Content) == 0 {
		return nil, errors.New("there are no rules in it")
	} else if err != nil {
		return nil, err
	}
	if err := d.Decode(&second); err == nil {
		return nil, fmt.Errorf("line %d: a second document; rules are one list", second.Line)
	} else if err != io.EOF {
		return nil, err
	}
	return document.Content[0], nil
}

// yamlError puts the line that yaml.v3 names behind the file.
func yamlError(name string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := regexp.MustCompile(`^line (\d+): (.*)$`).FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s:%s: %s", name, m[1], m[2])
	}
	return fmt.Errorf("%s: %s", name, text)
}

// decodeRule reads one rule and what is wrong with it.
func decodeRule(n *yaml.Node) (Rule, *decoder) {
	var r Rule
	d := &decoder{lines: make(map[string]int)}
	d.value(n, reflect.ValueOf(&r).Elem(), "")
	for _, p := range r.problems() {
		told := slices.ContainsFunc(d.found, func(q problem) bool { return within(p.at, q.at) || within(q.at, p.at) })
		if !told && !slices.Contains(d.meant, p.at) {
			d.found = append(d.found, p)
		}
	}
	slices.SortStableFunc(d.found, func(a, b problem) int { return cmp.Compare(d.line(a.at, n.Line), d.line(b.at, n.Line)) })
	return r, d
}

// within tells whether a field is, or is in, another.
func within(at, outer string) bool {
	rest, ok := strings.CutPrefix(at, outer)
	return ok && (outer == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// line is where a field stands, or what it would be in.
func (d *decoder) line(at string, or int) int {
	for at != "" {
		if n := d.lines[at]; n > 0 {
			return n
		}
		at = at[:max(strings.LastIndexAny(at, ".["), 0)]
	}
	return or
}

// UnmarshalYAML reads a rule that is part of a larger document, as [ParseRules] does.
func (r *Rule) UnmarshalYAML(n *yaml.Node) error {
	got, d := decodeRule(n)
	var wrong []error
	for _, p := range d.found {
		wrong = append(wrong, fmt.Errorf("line %d: %w", d.line(p.at, n.Line), p))
	}
	*r = got
	return errors.Join(wrong...)
}

// UnmarshalJSON reads a rule, as [ParseRules] does.
func (r *Rule) UnmarshalJSON(data []byte) error {
	n, err := parse(data)
	if err != nil {
		return fmt.Errorf("rule: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	got, d := decodeRule(n)
	var wrong []error
	for _, p := range d.found {
		wrong = append(wrong, p)
	}
	*r = got
	return errors.Join(wrong...)
}

// MarshalJSON writes a rule as [ParseRules] reads it.
func (r Rule) MarshalJSON() ([]byte, error) { return json.Marshal(plain(reflect.ValueOf(r))) }

// MarshalYAML writes a rule as [ParseRules] reads it.
func (r Rule) MarshalYAML() (any, error) { return plain(reflect.ValueOf(r)), nil }

// plain turns a value into what files have: durations are texts, actions have their key, what is not set is left out.
func plain(v reflect.Value) any {
	if t, ok := v.Interface().(time.Duration); ok {
		return t.String()
	}
	if v.Kind() == reflect.Interface {
		a, ok := v.Interface().(Action)
		if !ok {
			return nil
		}
		fields, _ := plain(v.Elem()).(map[string]any)
		if len(fields) == 0 {
			return a.key()
		}
		return map[string]any{a.key(): fields}
	}
	if v.Kind() != reflect.Struct {
		return v.Interface()
	}
	fields := make(map[string]any)
	for i := range v.NumField() {
		f := v.Field(i)
		if f.IsZero() {
			continue
		}
		fields[fieldName(v.Type().Field(i))] = plain(f)
	}
	return fields
}
