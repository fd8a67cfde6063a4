package expect

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

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
