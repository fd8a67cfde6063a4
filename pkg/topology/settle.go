package topology

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

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
