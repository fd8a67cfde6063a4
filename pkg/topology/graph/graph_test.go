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

// Each testdata/*.yaml is drawn as its .tree file says.
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
		name := strings.TrimSuffix(file, ".yaml") + ".tree"
		t.Run(filepath.Base(name), func(t *testing.T) { golden(t, name, graph.Tree(graph.Of(top))) })
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

// Names that mean something to a terminal are only names.
func TestHostileNames(t *testing.T) {
	n := &graph.Node{
		Kind: graph.Topology, Name: "a\"]; b -> c \\N", Count: 1, Notes: []string{"\x1b[31mred\u202e"},
		Children: []*graph.Node{{Kind: graph.VM, Name: "`**x**` <img src=x> #quot; \\", Count: 1, Tags: []string{"%%{init}%%", "x|y"}}},
	}
	want := "topology a\"]; b -> c \\N  \"\\x1b[31mred\\u202e\"\n└── VM `**x**` <img src=x> #quot; \\  [%%{init}%% x|y]\n"
	if diff := cmp.Diff(want, graph.Tree(n)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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
