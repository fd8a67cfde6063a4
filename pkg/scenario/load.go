package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// Load reads and checks a scenario. name stands for the data in messages; settings are values of its parameters. Its topology
// must be from the catalogue or inline, as there is no folder for files. An error is a [topology.Errors] with all problems.
func Load(name string, data []byte, settings ...topology.Setting) (*Scenario, error) {
	return load(name, data, folder{}, settings)
}

// maxSize is the maximum size of a file in bytes.
const maxSize = 1 << 20

func newReader(name string) *strict.Reader {
	return strict.NewReader(name, strict.Language{Noun: "scenario", APIVersion: APIVersion, Kind: Kind, Size: maxSize})
}

// LoadFile loads a scenario from a file. The topology may be a file, relative to its folder. Errors are those of [Load] and of
// reading.
func LoadFile(name string, settings ...topology.Setting) (*Scenario, error) {
	data, err := input.File(name, maxSize)
	if err != nil {
		return nil, unreadable(name, err)
	}
	return load(name, data, folder{dir: filepath.Dir(name), there: true}, settings)
}

// LoadFS is [LoadFile] for a file of a file system.
func LoadFS(files fs.FS, name string, settings ...topology.Setting) (*Scenario, error) {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	return load(name, data, folder{files: files, dir: path.Dir(name), there: true}, settings)
}

func unreadable(name string, err error) error {
	if _, ok := errors.AsType[*input.TooLarge](err); ok {
		r := newReader(name)
		r.TooLong()
		return r.Err()
	}
	return fmt.Errorf("scenario %s: %w", name, input.Plain(err))
}

func load(name string, data []byte, from folder, settings []topology.Setting) (*Scenario, error) {
	r := newReader(name)
	root := r.Parse(data)
	if root == nil {
		return nil, r.Err()
	}
	if !header(r, root) {
		return nil, r.Err()
	}
	s := &Scenario{File: name, source: data}
	values, unusable := parameters(r, root, settings)
	s.Values = values
	s.root = replaceParameters(r, root, values, unusable)
	r.Decode(s.root, s, "")
	s.attach()
	s.placed(from)
	s.Topology.resolve(r, from)
	check(r, s)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// header checks apiVersion and kind, and reports whether the file looks like a scenario: without both of them, and without steps,
// other errors make no sense.
func header(r *strict.Reader, root *yaml.Node) bool {
	if root.Kind != yaml.MappingNode {
		r.Errorf(root, "", "must be a mapping (key: value), not %s", strict.Describe(root))
		return false
	}
	_, steps := strict.Find(root, "steps")
	right := steps != nil
	for _, want := range []struct{ key, value string }{{"apiVersion", APIVersion}, {"kind", Kind}} {
		switch _, node := strict.Find(root, want.key); {
		case node == nil:
			r.Errorf(root, want.key, "is missing: %s: %s", want.key, want.value)
		case node.Value != want.value:
			r.Hint(node, want.key, want.value, "must be %s, not %s", want.value, strict.Describe(node))
		default:
			right = true
		}
	}
	return right
}

// replaceParameters replaces ${name} by values. It leaves unusable parameters, whose errors are reported, and names of set steps to
// the later steps.
func replaceParameters(r *strict.Reader, root *yaml.Node, values map[string]string, unusable []string) *yaml.Node {
	made := *root
	made.Content = slices.Clone(root.Content)
	known, broken := written(values), map[string]bool{}
	for _, name := range unusable {
		broken[name] = true
	}
	late := map[string]bool{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, node := root.Content[i].Value, root.Content[i+1]
		switch {
		case key == "parameters":
		case key == "steps" && node.Kind == yaml.SequenceNode:
			steps := *node
			steps.Content = nil
			for n, step := range node.Content {
				steps.Content = append(steps.Content, r.Substitute(step, strict.Item(key, n), strict.Values{Known: known, Late: late, Broken: broken}))
				if _, set := strict.Find(step, "set"); set != nil && set.Kind == yaml.MappingNode {
					for j := 0; j < len(set.Content); j += 2 {
						late[set.Content[j].Value] = true
					}
				}
			}
			made.Content[i+1] = &steps
		default:
			made.Content[i+1] = r.Substitute(node, key, strict.Values{Known: known, Broken: broken})
		}
	}
	return &made
}

// written returns values as if they were written where they are used.
func written(values map[string]string) map[string]strict.Value {
	known := make(map[string]strict.Value, len(values))
	for name, text := range values {
		known[name] = strict.Value{Text: text}
	}
	return known
}

// attach gives the steps their paths.
func (s *Scenario) attach() {
	_, list := strict.Find(s.root, "steps")
	for i, step := range s.Steps {
		if step == nil {
			s.Steps[i] = &Step{}
			step = s.Steps[i]
		}
		if list != nil && i < len(list.Content) {
			step.node, step.Line = list.Content[i], list.Content[i].Line
		}
		step.path = strict.Item("steps", i)
	}
}

// folder resolves file names of topologies.
type folder struct {
	files fs.FS // nil: the host's files
	dir   string
	there bool
}

// topologyFile is the value of topology: before it is resolved.
type topologyFile struct {
	node *yaml.Node
	path string
}

// DecodeYAML keeps the node: it is resolved when the whole file is known.
func (t *Topology) DecodeYAML(_ *strict.Reader, node *yaml.Node, path string) {
	t.file = topologyFile{node, path}
}

// resolve loads the topology.
func (t *Topology) resolve(r *strict.Reader, from folder) {
	node, at := t.file.node, "topology"
	switch {
	case node == nil || strict.IsNull(node):
		r.Errorf(nil, at, "is missing: the name of a topology (%s), a file, or one written out below it", strings.Join(scenarios.Names(), ", "))
	case node.Kind == yaml.ScalarNode:
		t.Use = node.Value
		t.load(r, node, from)
	case node.Kind == yaml.MappingNode:
		if _, spec := strict.Find(node, "spec"); spec != nil {
			t.inline(r, node)
			return
		}
		var long struct {
			Use        string            `json:"use"`
			Parameters map[string]string `json:"parameters"`
		}
		if r.Decode(node, &long, at); long.Use == "" {
			r.Errorf(node, at, "must have use: (the name of a topology, or a file) or spec: (one written out)")
			return
		}
		for _, name := range slices.Sorted(maps.Keys(long.Parameters)) {
			t.Settings = append(t.Settings, topology.Setting{Name: name, Value: long.Parameters[name]})
		}
		t.Use = long.Use
		t.load(r, node, from)
	default:
		r.Errorf(node, at, "must be the name of a topology, a file, or a mapping, not %s", strict.Describe(node))
	}
}

// isFile reports whether a text names a file rather than an entry of the catalogue.
func isFile(use string) bool {
	return strings.ContainsAny(use, `/\`) || strings.HasSuffix(use, ".yaml") || strings.HasSuffix(use, ".yml")
}

func (t *Topology) load(r *strict.Reader, node *yaml.Node, from folder) {
	var err error
	switch {
	case !isFile(t.Use):
		if !slices.Contains(scenarios.Names(), t.Use) {
			r.Hint(node, "topology", nearest.Of(t.Use, scenarios.Names()), "there is no topology %q: there are %s", t.Use, strings.Join(scenarios.Names(), ", "))
			return
		}
		t.Resolved, err = scenarios.Load(t.Use, t.Settings...)
	case !from.there:
		r.Errorf(node, "topology", "cannot be a file: this scenario was not read from a file")
		return
	case from.files != nil:
		var below fs.FS
		if below, err = fs.Sub(from.files, from.dir); err == nil {
			t.Resolved, err = topology.LoadFS(below, t.Use, t.Settings...) // refuses names outside of the folder
		}
	default:
		t.Resolved, err = topology.LoadBelow(from.dir, t.Use, t.Settings...)
	}
	if err != nil {
		t.Resolved = nil
		r.Errorf(node, "topology", "%v", err)
	}
}

// inline loads a topology that is part of the scenario. Its errors have the lines of the scenario.
func (t *Topology) inline(r *strict.Reader, node *yaml.Node) {
	whole := *node
	add := func(key string, value *yaml.Node) {
		if _, there := strict.Find(node, key); there == nil {
			whole.Content = append(whole.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
		}
	}
	text := func(value string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	}
	add("apiVersion", text(topology.APIVersion))
	add("kind", text(topology.Kind))
	add("metadata", &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{text("name"), text("inline")}})
	data, err := yaml.Marshal(&whole)
	if err != nil {
		r.Errorf(node, "topology", "%v", err)
		return
	}
	t.Resolved, err = topology.Load(r.File(), data)
	var all topology.Errors
	if !errors.As(err, &all) {
		if err != nil {
			r.Errorf(node, "topology", "%v", err)
		}
		return
	}
	t.Resolved = nil
	for _, one := range all {
		at := strict.Locate(node, one.Path)
		r.Hint(at, strict.Below("topology", one.Path), one.Hint, "%s", one.Message)
	}
}

var parameterName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)

// parameters reads the parameters of a scenario, and returns their values and the names of those that have none because of an error.
func parameters(r *strict.Reader, root *yaml.Node, settings []topology.Setting) (values map[string]string, unusable []string) {
	_, node := strict.Find(root, "parameters")
	var list []topology.Parameter
	before := r.Len()
	if node != nil {
		r.Decode(node, &list, "parameters")
	}
	if r.Len() > before {
		return nil, names(node)
	}
	values = map[string]string{}
	var known []string
	for i, p := range list {
		at, path := node.Content[i], strict.Item("parameters", i)
		switch {
		case !parameterName.MatchString(p.Name):
			r.Errorf(at, strict.Below(path, "name"), "must begin with a letter and have letters, digits, - and _ only, not %q", p.Name)
		case slices.Contains(known, p.Name):
			r.Errorf(at, strict.Below(path, "name"), "%q is already there", p.Name)
		}
		known = append(known, p.Name)
		value, given := string(p.Default), p.Default != ""
		for _, s := range settings {
			if s.Name == p.Name {
				value, given = s.Value, true
			}
		}
		_, hasDefault := strict.Find(at, "default")
		value, complaint := p.Type.Read(value)
		switch {
		case !given && hasDefault == nil:
			r.Errorf(at, path, "has no default: it must be set (--set %s=…)", p.Name)
		case complaint != "":
			r.Errorf(at, path, "%s %s", p.Name, complaint)
		case len(p.Allowed) > 0 && !slices.Contains(p.Allowed, topology.Scalar(value)):
			r.Errorf(at, path, "%s must be one of %v, not %q", p.Name, p.Allowed, value)
		default:
			values[p.Name] = value
			continue
		}
		unusable = append(unusable, p.Name)
	}
	for _, s := range settings {
		if !slices.Contains(known, s.Name) {
			r.Hint(node, "parameters", nearest.Of(s.Name, known), "there is no parameter %q to be set", s.Name)
		}
	}
	return values, unusable
}

// names returns all words below a node that may be names of parameters.
func names(node *yaml.Node) (all []string) {
	for _, inner := range node.Content {
		if inner.Kind == yaml.ScalarNode && parameterName.MatchString(inner.Value) {
			all = append(all, inner.Value)
		}
		all = append(all, names(inner)...)
	}
	return all
}
