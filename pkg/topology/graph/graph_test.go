package graph_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/graph"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Each testdata/*.yaml is drawn as its .tree, .dot and .mermaid files say.
func TestDrawn(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no topologies (%v)", err)
	}
	for _, file := range files {
		top, err := topology.LoadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for format, draw := range map[string]func(*graph.Node) string{"tree": graph.Tree, "dot": graph.DOT, "mermaid": graph.Mermaid} {
			name := strings.TrimSuffix(file, ".yaml") + "." + format
			t.Run(filepath.Base(name), func(t *testing.T) {
				golden(t, name, draw(graph.Of(top)))
			})
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", file, diff)
	}
}

// Names that mean something to a terminal, to Graphviz or to Mermaid are only names.
func TestHostileNames(t *testing.T) {
	n := &graph.Node{
		Kind: graph.Topology, Name: "a\"]; b -> c \\N", Count: 1, Notes: []string{"\x1b[31mred\u202e"},
		Children: []*graph.Node{{Kind: graph.VM, Name: "`**x**` <img src=x> #quot; \\", Count: 1, Tags: []string{"%%{init}%%", "x|y"}}},
	}
	for name, test := range map[string]struct{ got, want string }{
		"tree": {graph.Tree(n), "topology a\"]; b -> c \\N  \"\\x1b[31mred\\u202e\"\n└── VM `**x**` <img src=x> #quot; \\  [%%{init}%% x|y]\n"},
		"dot": {graph.DOT(n), `digraph "a\"]; b -> c \\N" {
  rankdir=LR;
  node [shape=box, fontname="sans-serif"];
  n0 [label="topology a\"]; b -> c \\N\n\"\\x1b[31mred\\u202e\""];
  n1 [label="VM ` + "`**x**`" + ` <img src=x> #quot; \\\n%%{init}%%\nx|y", shape=component];
  n0 -> n1;
}
`},
		"mermaid": {graph.Mermaid(n), `flowchart LR
  n0["topology a#34;]#59; b -#62; c #92;N<br/>#34;#92;x1b[31mred#92;u202e#34;"]
  n1("VM #96;#42;#42;x#42;#42;#96; #60;img src=x#62; #35;quot#59; #92;<br/>%%{init}%%<br/>x#124;y")
  n0 --> n1
`},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What Of returns has every object once, alone or in one that stands for several.
func TestComplete(t *testing.T) {
	top, err := topology.LoadFile("testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	count := map[graph.Kind]int{}
	var visit func(*graph.Node)
	visit = func(n *graph.Node) {
		count[n.Kind] += n.Count
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(graph.Of(top))
	c := top.Count()
	want := map[graph.Kind]int{
		graph.Topology: 1, graph.VCenter: c.VCenters, graph.Datacenter: c.Datacenters, graph.Cluster: c.Clusters, graph.Host: c.Hosts,
		graph.VM: c.VMs - 1, graph.Template: 1, graph.Folder: 3, graph.VMFolder: 3, graph.Pool: 3, graph.VApp: 2, graph.Datastore: 7,
		graph.Network: 2, graph.Switch: 1, graph.PortGroup: 6,
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
