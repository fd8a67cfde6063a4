package scenario

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

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
