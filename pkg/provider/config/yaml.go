package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// yamlReader reads the YAML form. It walks the nodes itself, so that every mistake is told with its key.
type yamlReader struct {
	name string
	p    *problems
}

// readYAML returns nil when there is nothing worth checking further.
func readYAML(name string, data []byte, p *problems) *file {
	r := &yamlReader{name, p}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF) || err == nil && (len(doc.Content) == 0 || strict.IsNull(doc.Content[0])):
		p.at(position{file: name}, "", "file is empty")
		return nil
	case err != nil:
		r.syntax(err, data, nil)
		return nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		p.at(r.at(root, ""), notMapping(root), "must be a mapping, not %s", strict.Describe(root))
		return nil
	}
	if k := repeats(root); k != nil {
		p.at(r.at(k, ""), "", "key %q stands again, as more than %d others here: nothing is read", k.Value, maxRepeats)
		return nil
	}
	// The decoder finds keys that stand twice, in whatever is not looked into below too, and guards against aliases
	// that grow without end.
	if err := doc.Decode(new(any)); err != nil {
		r.syntax(err, data, root)
		if _, ok := errors.AsType[*yaml.TypeError](err); !ok {
			return nil
		}
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		p.at(position{file: name}, "", "file has a second document, of which nothing would be read")
	}
	return r.file(root)
}

// file reads the sections.
func (r *yamlReader) file(root *yaml.Node) *file {
	f := &file{format: YAML, name: r.name, global: endpoint{at: r.at(root, "global")}}
	for _, e := range r.entries(root, "") {
		switch e.key {
		case "global":
			f.global.at = e.at
			readSection(r, e, &f.global, globalFields())
		case "vcenter":
			f.lost = f.lost || e.value.Kind != yaml.MappingNode && !strict.IsNull(e.value)
			for _, t := range r.entries(e.value, e.at.path) {
				readSection(r, t, f.vcenter(t.key, t.at), vcenterFields())
			}
		case "labels":
			readSection(r, e, &f.labels, labelFields())
		case "nodes":
			readSection(r, e, &f.nodes, nodeFields())
		case "nsxt", "loadBalancer", "loadBalancerClass", "route": // upstream's for NSX-T
			if !strict.IsNull(e.value) {
				r.p.warn(e.at, "has no effect")
			}
		default:
			f.lost = true
			r.p.unknown(e.at, func() string { return sectionHint(e.key) })
		}
	}
	return f
}

// sectionHint says what a key that is no section may be.
func sectionHint(key string) string {
	if fold(key) == "virtualcenter" {
		return "did you mean vcenter?"
	}
	sections := []string{"global", "vcenter", "labels", "nodes", "nsxt", "loadBalancer", "loadBalancerClass", "route"}
	return unknownHint(key, sections, yamlElsewhere())
}

// yamlElsewhere is every key by its full name, the folded key in front.
func yamlElsewhere() map[string]string {
	all := map[string]string{}
	for section, keys := range map[string][]string{
		"global": names(globalFields(), yamlName), "labels": names(labelFields(), yamlName), "nodes": names(nodeFields(), yamlName),
	} {
		for _, key := range keys {
			all[fold(key)] = section + "." + key
		}
	}
	return all
}

// readSection reads the keys of one section.
func readSection[S any](r *yamlReader, section entry, into *S, fields []field[S]) {
	for _, e := range r.entries(section.value, section.at.path) {
		f, ok := named(fields, yamlName, e.key)
		switch {
		case !ok:
			r.p.unknown(e.at, func() string { return unknownHint(e.key, names(fields, yamlName), yamlElsewhere()) })
		case f.into == nil:
			r.p.warn(e.at, "has no effect")
		default:
			r.set(f.into(into), e)
		}
	}
}

// set puts a value into dst, which is a pointer to a cell. What is null or empty sets nothing.
func (r *yamlReader) set(dst any, e entry) {
	n := e.value
	if strict.IsNull(n) {
		return
	}
	switch dst := dst.(type) {
	case *cell[string]:
		if n.Kind != yaml.ScalarNode {
			r.p.at(e.at, "", "must be text, not %s", strict.Describe(n))
			dst.spoil(e.at)
		} else if n.Value != "" {
			dst.put(n.Value, e.at)
		}
	case *cell[int]:
		var i int
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&i) != nil {
			r.p.at(e.at, quoted(n), "must be a whole number, not %s", strict.Describe(n))
			dst.spoil(e.at)
			return
		}
		dst.put(i, e.at)
	case *cell[bool]:
		var b bool
		if n.Kind != yaml.ScalarNode || n.Decode(&b) != nil {
			r.p.at(e.at, quoted(n), "must be true or false, not %s", strict.Describe(n))
			dst.spoil(e.at)
			return
		}
		dst.put(b, e.at)
	case *cell[[]string]:
		if list, ok := r.list(e); !ok {
			dst.spoil(e.at)
		} else if len(list) > 0 {
			dst.put(list, e.at)
		}
	default:
		panic(fmt.Sprintf("config: no cell: %T", dst))
	}
}

// list reads a list of texts.
func (r *yamlReader) list(e entry) ([]string, bool) {
	if e.value.Kind != yaml.SequenceNode {
		hint := ""
		if e.value.Kind == yaml.ScalarNode {
			hint = "write [" + strings.Join(splitList(e.value.Value), ", ") + "]"
		}
		r.p.at(e.at, hint, "must be a list, not %s", strict.Describe(e.value))
		return nil, false
	}
	var list []string
	for _, item := range e.value.Content {
		item = resolveAlias(item)
		if item.Kind != yaml.ScalarNode {
			r.p.at(r.at(item, e.at.path), "", "an entry must be text, not %s", strict.Describe(item))
			return nil, false
		}
		if strict.IsNull(item) {
			item = &yaml.Node{}
		}
		list = append(list, item.Value)
	}
	return list, true
}
