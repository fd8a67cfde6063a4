package topology

import (
	"math"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// Preamble is the part of a topology file in addition to its [Topology]. A loaded topology does not have it.
type Preamble struct {
	// Include lists files that are parts of this topology: relative to this file, in the topology's folder or below it. Mappings
	// merge by key, vCenters, datacenters, clusters and parameters by name; other lists are concatenated. This file overrides
	// included files, and a later included file overrides an earlier one.
	Include []string `json:"include,omitempty"`
	// Parameters are values that are set when the topology is loaded, used as ${name} in any value. $${ stands for ${.
	Parameters []Parameter `json:"parameters,omitempty"`
}

// Parameter is a value that is set when the topology is loaded.
type Parameter struct {
	// Name begins with a letter, and continues with letters, digits, hyphens and underscores.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Type is the type of the value. Default: int or bool if the default has that type, else string.
	Type ParameterType `json:"type,omitempty"`
	// Default is the value if none is set. A parameter without a default must be set.
	Default Scalar `json:"default,omitempty"`
	// Allowed are the allowed values. Default: any.
	Allowed []Scalar `json:"allowed,omitempty"`
}

// Scalar is a text, a number or a boolean, as written.
type Scalar string

// UnmarshalText accepts any text.
func (s *Scalar) UnmarshalText(text []byte) error {
	*s = Scalar(text)
	return nil
}

// ParameterType is the type of a parameter's values.
type ParameterType string

// The types of parameters. A bool is yes, no, true or false, and becomes yes or no, the form in a topology. A size has the form
// of [Bytes].
const (
	StringParameter ParameterType = "string"
	IntParameter    ParameterType = "int"
	BoolParameter   ParameterType = "bool"
	SizeParameter   ParameterType = "size"
)

func (ParameterType) choices() []string {
	return []string{string(StringParameter), string(IntParameter), string(BoolParameter), string(SizeParameter)}
}

// Read converts a given value, or returns its problem. The zero type is a string.
func (t ParameterType) Read(text string) (value, complaint string) {
	switch t {
	case IntParameter:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n > math.MaxInt32 || n < math.MinInt32 {
			return "", "must be a whole number, not " + strict.Shown(text)
		}
		return strconv.FormatInt(n, 10), ""
	case BoolParameter:
		yes, ok := strict.Truth(text)
		if !ok {
			return "", "must be yes or no, not " + strict.Shown(text)
		}
		if yes {
			return string(Yes), ""
		}
		return string(No), ""
	case SizeParameter:
		size, err := ParseBytes(text)
		if err != nil {
			return "", err.Error() + ", not " + strict.Shown(text)
		}
		return size.String(), ""
	case StringParameter, "":
	default:
		return "", "has a type that is none of " + strings.Join(t.choices(), ", ")
	}
	if len(text) > maxText {
		return "", "must be at most " + strconv.Itoa(maxText) + " bytes long, not " + strict.Shown(text)
	}
	return text, ""
}

// tag returns the YAML type of a value that consists only of the parameter.
func (t ParameterType) tag() string {
	if t == IntParameter {
		return "!!int"
	}
	return "!!str"
}

// parameterName is the rule for names of parameters, which must be unambiguous between ${ and }.
func parameterName(name string) (complaint, hint string) {
	letter := func(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }
	if letter(name[0]) && len(name) <= 63 && only(name, func(b byte) bool { return letter(b) || '0' <= b && b <= '9' || b == '-' || b == '_' }) {
		return "", ""
	}
	return "must begin with a letter and have letters, digits, - and _ only, 63 at most, not " + strict.Shown(name), ""
}
