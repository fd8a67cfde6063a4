package scenario

import (
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

var parameterName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)

// parameters reads the parameters of a scenario, and returns their values.
func parameters(r *strict.Reader, root *yaml.Node, settings []topology.Setting) map[string]string {
	_, node := strict.Find(root, "parameters")
	var list []topology.Parameter
	if node != nil {
		r.Decode(node, &list, "parameters")
	}
	if r.Failed() {
		return nil
	}
	values, names := map[string]string{}, []string{}
	for i, p := range list {
		at, path := node.Content[i], strict.Item("parameters", i)
		switch {
		case !parameterName.MatchString(p.Name):
			r.Errorf(at, strict.Below(path, "name"), "must begin with a letter and have letters, digits, - and _ only, not %q", p.Name)
		case slices.Contains(names, p.Name):
			r.Errorf(at, strict.Below(path, "name"), "%q is already there", p.Name)
		}
		names = append(names, p.Name)
		value, given := string(p.Default), p.Default != ""
		for _, s := range settings {
			if s.Name == p.Name {
				value, given = s.Value, true
			}
		}
		_, hasDefault := strict.Find(at, "default")
		if !given && hasDefault == nil {
			r.Errorf(at, path, "has no default: it must be set (--set %s=…)", p.Name)
			continue
		}
		value, complaint := p.Type.Read(value)
		if complaint != "" {
			r.Errorf(at, path, "%s %s", p.Name, complaint)
			continue
		}
		if len(p.Allowed) > 0 && !slices.Contains(p.Allowed, topology.Scalar(value)) {
			r.Errorf(at, path, "%s must be one of %v, not %q", p.Name, p.Allowed, value)
			continue
		}
		values[p.Name] = value
	}
	for _, s := range settings {
		if !slices.Contains(names, s.Name) {
			r.Hint(node, "parameters", nearest.Of(s.Name, names), "there is no parameter %q to be set", s.Name)
		}
	}
	return values
}
