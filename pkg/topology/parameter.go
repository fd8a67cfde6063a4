package topology

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

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

// Setting sets the value of a parameter. Of several for one parameter the last one counts.
type Setting struct{ Name, Value string }

// ParseSetting parses "name=value". The value may be empty, or contain equals signs.
func ParseSetting(text string) (Setting, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return Setting{}, fmt.Errorf("must be NAME=VALUE, not %s", strict.Shown(text))
	}
	return Setting{Name: name, Value: value}, nil
}

// parameter is a parameter with its final value.
type parameter struct {
	kind  ParameterType
	value string
}

// parameters removes the parameters from the topology and returns them with their values: the settings, or else the defaults. It
// reports all problems.
func parameters(p *problems, settings []Setting) map[string]parameter {
	at := (*path)(nil).key("parameters")
	node, found := locate(p.root, at)
	if !found {
		node = p.root
	}
	var list []Parameter
	before := p.Len()
	if found {
		decode(p, node, &list, at)
	}
	if p.Len() > before {
		return nil
	}
	settings = spreadSettings(list, settings)
	set, known := make(map[string]string, len(settings)), map[string]parameter{}
	for _, setting := range settings {
		set[setting.Name] = setting.Value
	}
	names := newScope(p, "parameter")
	for i := range list {
		at := at.item(i)
		checkName(p, at.key("name"), list[i].Name, parameterName)
		names.add(list[i].Name, at.key("name"))
		text, given := set[list[i].Name]
		known[list[i].Name] = settle(p, at, list[i], text, given)
	}
	for _, setting := range settings {
		if _, ok := known[setting.Name]; !ok {
			p.unknownSetting(node, at, setting.Name, list)
		}
	}
	takeKey(p, p.root, at)
	return known
}

// spreadSettings replaces a setting of a name that several parameters begin with: "workers" sets "workers-east" and "workers-west" if
// there is no parameter "workers".
func spreadSettings(list []Parameter, settings []Setting) (all []Setting) {
	for _, setting := range settings {
		var of []Setting
		for _, p := range list {
			if p.Name == setting.Name {
				of = nil
				break
			}
			if strings.HasPrefix(p.Name, setting.Name+"-") {
				of = append(of, Setting{p.Name, setting.Value})
			}
		}
		if len(of) < 2 {
			of = []Setting{setting}
		}
		all = append(all, of...)
	}
	return all
}

// Declared returns the parameters that a topology file declares, without those of files that it includes. The file is checked when it
// is loaded.
func Declared(data []byte) ([]Parameter, error) {
	var declared struct {
		Parameters []Parameter `yaml:"parameters"`
	}
	err := yaml.Unmarshal(data, &declared)
	return declared.Parameters, err
}

// settle checks a parameter and returns it with its value: text if given, or else its default.
func settle(p *problems, at *path, declared Parameter, text string, given bool) parameter {
	def, has := locate(p.root, at.key("default"))
	has = has && !strict.IsNull(def)
	if declared.Type == "" {
		declared.Type = StringParameter
		if has {
			declared.Type = inferred(def)
		}
	}
	allowed := make([]string, 0, len(declared.Allowed))
	for i, one := range declared.Allowed {
		value, complaint := declared.Type.Read(string(one))
		if complaint != "" {
			p.field(at.key("allowed").item(i), "", "%s", complaint)
		}
		allowed = append(allowed, value)
	}
	read := func(at *path, text, so string) parameter {
		value, complaint := declared.Type.Read(text)
		if complaint == "" && len(allowed) > 0 && !slices.Contains(allowed, value) {
			complaint = "must be one of " + strict.Listed(allowed) + ", not " + strict.Shown(value)
		}
		if complaint != "" {
			p.field(at, "", "%s%s", so, complaint)
		}
		return parameter{declared.Type, value}
	}
	var settled parameter
	if has {
		settled = read(at.key("default"), string(declared.Default), "")
	}
	switch {
	case given:
		return read(at, text, "parameter "+strict.Shown(declared.Name)+", as it was set, ")
	case !has && declared.Name != "":
		p.field(at, "", "parameter %s has no default and was not set (--set %s=VALUE)", strict.Shown(declared.Name), strict.Cut(declared.Name))
	}
	return settled
}

// inferred returns the type of a parameter from its default.
func inferred(def *yaml.Node) ParameterType {
	switch def.ShortTag() {
	case "!!int":
		return IntParameter
	case "!!bool":
		return BoolParameter
	}
	return StringParameter
}

func (p *problems) unknownSetting(node *yaml.Node, at *path, name string, list []Parameter) {
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = one.Name
	}
	message := "there is no parameter " + strict.Shown(name) + ", which was set"
	if len(list) == 0 {
		message += ": this topology has none"
	}
	p.Add(Error{Line: max(node.Line, 1), Column: max(node.Column, 1), Path: at.String(), Message: message, Hint: p.Nearest(name, names)})
}
