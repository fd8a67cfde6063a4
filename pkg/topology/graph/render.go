package graph

import (
	"fmt"
	"strings"
)

// Mermaid writes a node and its contents as a Mermaid flowchart, which GitHub renders: arrows lead to contents, dotted ones along
// links.
func Mermaid(root *Node) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	order, names := numbered(root)
	for _, n := range order {
		left, right := shapeMermaid(n.Kind)
		fmt.Fprintf(&b, "  %s%s%s%s\n", names[n], left, quotedMermaid(label(n)...), right)
	}
	for _, n := range order {
		for _, child := range n.Children {
			fmt.Fprintf(&b, "  %s --> %s\n", names[n], names[child])
		}
		for _, link := range n.Links {
			fmt.Fprintf(&b, "  %s -.->|%s| %s\n", names[n], quotedMermaid(link.Label), names[link.To])
		}
	}
	return b.String()
}

// quotedMermaid returns a quoted text. Mermaid's only escapes are entities, numeric ones in all renderers; HTML and Markdown are
// escaped.
func quotedMermaid(lines ...string) string {
	var b strings.Builder
	for i, text := range lines {
		if i > 0 {
			b.WriteString("<br/>")
		}
		for _, r := range printable(text) {
			if strings.ContainsRune("\"#&<>`\\*_~;|", r) {
				fmt.Fprintf(&b, "#%d;", r)
				continue
			}
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

func shapeMermaid(kind Kind) (left, right string) {
	switch kind {
	case Datastore:
		return "[(", ")]"
	case Network, PortGroup, Switch:
		return "([", "])"
	case VM, Template:
		return "(", ")"
	case Topology, VCenter, Folder, Datacenter, Cluster, Host, Pool, VApp, VMFolder:
	}
	return "[", "]"
}

// DOT writes a node and its contents as a graph for Graphviz: solid arrows lead to contents, dashed ones along links.
func DOT(root *Node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", quotedDOT(root.Name))
	b.WriteString("  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n")
	order, names := numbered(root)
	for _, n := range order {
		fmt.Fprintf(&b, "  %s [label=%s%s];\n", names[n], quotedDOT(label(n)...), shapeDOT(n.Kind))
	}
	for _, n := range order {
		for _, child := range n.Children {
			fmt.Fprintf(&b, "  %s -> %s;\n", names[n], names[child])
		}
		for _, link := range n.Links {
			fmt.Fprintf(&b, "  %s -> %s [style=dashed, constraint=false, label=%s];\n", names[n], names[link.To], quotedDOT(link.Label))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// quotedDOT returns a quoted string. A backslash begins an escape of Graphviz.
func quotedDOT(lines ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for i, text := range lines {
		lines[i] = escape.Replace(printable(text))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

func shapeDOT(kind Kind) string {
	shape := ""
	switch kind {
	case VCenter:
		shape = "box3d"
	case Folder, VMFolder:
		shape = "folder"
	case Datastore:
		shape = "cylinder"
	case Network, PortGroup, Switch:
		shape = "ellipse"
	case VM, Template:
		shape = "component"
	case Topology, Datacenter, Cluster, Host, Pool, VApp:
		return ""
	}
	return ", shape=" + shape
}
