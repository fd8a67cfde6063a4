package scenario

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// On chooses the targets of a fault. The key with the fault's kind of target names them; the others restrict where they are.
type On struct {
	entries []onEntry
}

type onEntry struct {
	key   string
	texts []string
	node  *yaml.Node
	path  string
}

// onKeys lists the keys, beginning with those that are always names.
func onKeys() []string {
	return []string{
		"names", "vm", "node", "component", "volume", "datastore", "vcenter", "datacenter", "cluster", "host", "region", "zone", "role", "labels",
	}
}

// DecodeYAML reads a mapping, or one name or a list of names.
func (o *On) DecodeYAML(r *strict.Reader, node *yaml.Node, path string) {
	if node.Kind != yaml.MappingNode {
		o.entries = []onEntry{{"names", r.Texts(node, path), node, path}}
		return
	}
	r.Keys(node, path, func(key, value *yaml.Node, below string) {
		if !slices.Contains(onKeys(), key.Value) {
			r.Unknown(key, below, "kind of target", key.Value, onKeys())
			return
		}
		var list []string
		if key.Value == "labels" && value.Kind == yaml.MappingNode {
			list = []string{labelSelector(r, value, below)}
		} else {
			list = r.Texts(value, below)
		}
		o.entries = append(o.entries, onEntry{key.Value, list, value, below})
	})
}

// labelSelector returns a mapping as a label selector.
func labelSelector(r *strict.Reader, node *yaml.Node, path string) string {
	var labels map[string]string
	r.Decode(node, &labels, path)
	var parts []string
	for key, value := range labels {
		parts = append(parts, key+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// namesOf reports whether a key names targets of a kind, without their place.
func namesOf(key string, kind fault.Object) bool {
	switch key {
	case "names", "component", "volume", "datastore":
		return true
	case "vm", "node":
		return true // a VM is known by its node's name, too
	}
	return strings.EqualFold(key, string(kind))
}

// Selector returns the request for the sandbox.
func (o *On) Selector(kind fault.Object) api.Selector {
	var s api.Selector
	if o == nil {
		return s
	}
	for _, e := range o.entries {
		if namesOf(e.key, kind) {
			s.Names = append(s.Names, e.texts...)
			continue
		}
		text := strings.Join(e.texts, ",")
		switch e.key {
		case "vcenter":
			s.VCenter = text
		case "datacenter":
			s.Datacenter = text
		case "cluster":
			s.Cluster = text
		case "host":
			s.Host = text
		case "region":
			s.Region = text
		case "zone":
			s.Zone = text
		case "role":
			s.Role = text
		case "labels":
			s.Labels = text
		}
	}
	return s
}

// String returns a short description.
func (o *On) String() string {
	if o == nil {
		return ""
	}
	var parts []string
	for _, e := range o.entries {
		parts = append(parts, cmp.Or(strings.TrimSuffix(e.key, "names"), "")+" "+strings.Join(e.texts, ", "))
	}
	return strings.TrimSpace(strings.Join(parts, ", "))
}
