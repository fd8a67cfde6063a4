package migrate

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// classWriter converts one StorageClass, entry by entry, so that comments and order stay.
type classWriter struct {
	c        *conversion
	o        object
	urls     *urls
	made     class
	problems []config.Problem
}

// notify reports on an entry, by its path in the class.
func (w *classWriter) note(p pair, path string, j judgment) {
	for i, to := range j.to {
		j.to[i] = toClasses + w.made.name + ": " + to
	}
	w.c.note(w.o.file, p.key.Line, w.o.title()+" "+path, j)
}

// refuse notes what cannot be carried over, or drops it with Force.
func (w *classWriter) refuse(p pair, path, message, hint string) {
	if w.c.opts.Force {
		if hint != "" {
			message += ", " + hint
		}
		w.note(p, path, judgment{verdict: Dropped, why: message})
		return
	}
	w.problems = append(w.problems, config.Problem{
		File: w.o.file, Line: p.key.Line, Column: p.key.Column, Path: w.o.title() + " " + path, Message: message, Hint: hint,
	})
}

// keep copies an entry unchanged.
func (w *classWriter) keep(into *yaml.Node, p pair, path string) {
	into.Content = append(into.Content, p.key, p.value)
	w.note(p, path, judgment{verdict: Kept, to: []string{path}})
}

// single refuses duplicate keys of a mapping: one of the values would be lost.
func (w *classWriter) single(n *yaml.Node) {
	seen := map[string]int{}
	for _, p := range pairs(n) {
		if line, again := seen[p.key.Value]; again && len(w.problems) < mostProblems {
			w.problems = append(w.problems, config.Problem{
				File: w.o.file, Line: p.key.Line, Column: p.key.Column, Path: w.o.title() + " " + p.key.Value, Message: "is set already", Hint: lineHint(line),
			})
		}
		seen[p.key.Value] = p.key.Line
	}
	for _, item := range n.Content {
		w.single(item)
	}
}

func (w *classWriter) write() {
	w.made.name = w.o.name()
	w.single(w.o.node)
	for _, p := range pairs(w.o.node) {
		switch key := p.key.Value; key {
		case "apiVersion":
			w.version(p)
		case "kind", "reclaimPolicy", "allowVolumeExpansion", "volumeBindingMode", "mountOptions":
			w.keep(w.made.node, p, key)
		case "provisioner":
			w.made.node.Content = append(w.made.node.Content, p.key, scalar(names.Driver))
			w.note(p, key, judgment{verdict: Changed, to: []string{key}, why: "the CSI driver is " + names.Driver})
		case "metadata":
			w.metadata(p)
		case "parameters":
			w.parameters(p)
		case "allowedTopologies":
			w.topologies(p)
		default:
			w.refuse(p, key, "unknown field", near(key, "apiVersion", "kind", "reclaimPolicy", "allowVolumeExpansion",
				"volumeBindingMode", "mountOptions", "provisioner", "metadata", "parameters", "allowedTopologies"))
		}
	}
}

// near returns the hint for an unknown name.
func near(name string, all ...string) string {
	if best := nearest.Of(name, all); best != "" {
		return "did you mean " + best + "?"
	}
	return ""
}

func (w *classWriter) version(p pair) {
	const now = "storage.k8s.io/v1"
	switch p.value.Value {
	case now:
		w.keep(w.made.node, p, "apiVersion")
	case now + "beta1":
		w.made.node.Content = append(w.made.node.Content, p.key, scalar(now))
		w.note(p, "apiVersion", judgment{verdict: Changed, to: []string{"apiVersion"}, why: now + "beta1 is served no more"})
	default:
		w.problems = append(w.problems, config.Problem{
			File: w.o.file, Line: p.key.Line, Column: p.key.Column, Path: w.o.title() + " apiVersion", Message: "is not that of a StorageClass", Hint: "write " + now,
		})
	}
}

// metadata keeps what a person has written.
func (w *classWriter) metadata(p pair) {
	into := mapping()
	w.made.node.Content = append(w.made.node.Content, p.key, into)
	w.note(p, "metadata", judgment{verdict: Kept, to: []string{"metadata"}})
	for _, m := range pairs(p.value) {
		path := "metadata." + m.key.Value
		switch m.key.Value {
		case "name", "labels", "finalizers":
			w.keep(into, m, path)
		case "annotations":
			w.annotations(into, m)
		case "uid", "resourceVersion", "creationTimestamp", "selfLink", "generation", "managedFields":
			w.note(m, path, judgment{verdict: Dropped, why: "was given by the cluster, which gives another"})
		default:
			w.refuse(m, path, "unknown field", near(m.key.Value, "name", "labels", "annotations"))
		}
	}
}

// isDefault is the annotation of the class for claims that name no class.
const isDefault = "storageclass.kubernetes.io/is-default-class"

// defaultClass renames the beta annotation; now is the value of the current one, or nil. Either of them makes a class the
// default.
func (w *classWriter) defaultClass(into *yaml.Node, a pair, now *yaml.Node, path string) {
	switch {
	case now == nil:
		put(into, isDefault, a.value)
		w.note(a, path, judgment{verdict: Changed, to: []string{"metadata.annotations." + isDefault}, why: "is the beta name of it"})
	case text(now) == text(a.value):
		w.note(a, path, judgment{verdict: Dropped, why: "is the beta name of " + isDefault + ", which stands beside it and says the same"})
	default:
		w.refuse(a, path, "says otherwise than "+isDefault, "")
	}
}

func (w *classWriter) annotations(metadata *yaml.Node, p pair) {
	into := mapping()
	w.note(p, "metadata.annotations", judgment{verdict: Kept, to: []string{"metadata.annotations"}})
	for _, a := range pairs(p.value) {
		path := "metadata.annotations." + a.key.Value
		switch a.key.Value {
		case "kubectl.kubernetes.io/last-applied-configuration":
			w.note(a, path, judgment{verdict: Dropped, why: "was written by kubectl, which writes another"})
		case "storageclass.beta.kubernetes.io/is-default-class":
			w.defaultClass(into, a, field(p.value, isDefault), path)
		default:
			w.keep(into, a, path)
		}
	}
	if len(into.Content) > 0 {
		metadata.Content = append(metadata.Content, p.key, into)
	}
}

// topologies changes the keys of nodes' labels into those of the driver.
func (w *classWriter) topologies(p pair) {
	const path = "allowedTopologies"
	if !w.c.zones() {
		w.refuse(p, path, "volumes were kept to zones, and the file names no tag categories of them", "set region and zone under [Labels]")
		return
	}
	w.made.node.Content = append(w.made.node.Content, p.key, p.value)
	w.note(p, path, judgment{verdict: Kept, to: []string{path}})
	for _, term := range p.value.Content {
		for _, expressions := range pairs(term) {
			w.note(expressions, path+"."+expressions.key.Value, judgment{verdict: Kept, to: []string{path}})
			for _, expression := range expressions.value.Content {
				w.expression(expression, path)
			}
		}
	}
}

func (w *classWriter) expression(n *yaml.Node, path string) {
	for _, p := range pairs(n) {
		if p.key.Value != "key" {
			w.note(p, path+" "+p.key.Value, judgment{verdict: Kept, to: []string{path}, why: "a tag's name, as before"})
			continue
		}
		category := ""
		switch p.value.Value {
		case "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone":
			category = w.c.cfg.Labels.Zone
		case "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region":
			category = w.c.cfg.Labels.Region
		default:
			w.problems = append(w.problems, config.Problem{
				File: w.o.file, Line: p.value.Line, Column: p.value.Column, Path: w.o.title() + " " + path,
				Message: fmt.Sprintf("%q is not the label of a region or a zone", p.value.Value), Hint: near(p.value.Value, "topology.kubernetes.io/zone", "topology.kubernetes.io/region"),
			})
			continue
		}
		*p.value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: names.TopologyPrefix + category, Line: p.value.Line}
		w.note(p, path+" key", judgment{verdict: Changed, to: []string{path}, why: "the driver knows a zone by its tag category: " + names.TopologyPrefix + category})
	}
}
