package topology_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestLoadMutated loads valid topologies with missing, duplicated or exchanged parts: more of them stay near the rules, valid or
// not, than of those that [FuzzLoad] creates from bytes.
func TestLoadMutated(t *testing.T) {
	var documents []*yaml.Node
	var values []string
	for _, file := range glob(t, "testdata/valid-*.yaml") {
		document := new(yaml.Node)
		if err := yaml.Unmarshal(read(t, file), document); err != nil {
			t.Fatal(err)
		}
		documents = append(documents, document)
		eachNode(document, func(n *yaml.Node) {
			if n.Kind == yaml.ScalarNode {
				values = append(values, n.Value)
			}
		})
	}
	const rounds = 1500
	valid := 0
	for seed := range uint64(rounds) {
		m := mutation{rand.New(rand.NewPCG(seed, 0)), values}
		document := m.copied(documents[m.IntN(len(documents))])
		for range 1 + m.IntN(2) {
			m.mutate(document)
		}
		text, err := yaml.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		if checkLoad(t, text) {
			valid++
		}
	}
	if valid < rounds/20 || valid > rounds*19/20 {
		t.Errorf("%d of %d are valid: they test one side only", valid, rounds)
	}
}

type mutation struct {
	*rand.Rand
	values []string
}

func (m mutation) copied(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	for _, inner := range n.Content {
		c.Content = append(c.Content, m.copied(inner))
	}
	return &c
}

// mutate changes one node below the document.
func (m mutation) mutate(document *yaml.Node) {
	var all []*yaml.Node
	eachNode(document, func(n *yaml.Node) {
		if n.Kind != yaml.DocumentNode && (n.Kind == yaml.ScalarNode || len(n.Content) > 0) {
			all = append(all, n)
		}
	})
	n := all[m.IntN(len(all))]
	size := 1
	if n.Kind == yaml.MappingNode {
		size = 2
	}
	if n.Kind == yaml.ScalarNode {
		n.Value = m.values[m.IntN(len(m.values))]
		return
	}
	at := m.IntN(len(n.Content)/size) * size
	if m.IntN(2) == 0 || n.Kind == yaml.MappingNode {
		n.Content = slices.Delete(n.Content, at, at+size)
		return
	}
	n.Content = slices.Insert(n.Content, at, m.copied(n.Content[at]))
}

func eachNode(n *yaml.Node, do func(*yaml.Node)) {
	do(n)
	for _, inner := range n.Content {
		eachNode(inner, do)
	}
}
