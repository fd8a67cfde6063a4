package topology_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// FuzzCompose: loading any file with any included part and any setting returns a topology that survives encoding and decoding, or
// errors with positions in one of the two files.
func FuzzCompose(f *testing.F) {
	f.Add(composed("[part.yaml]", "{seed: s}"), inventory, "site", "x")
	f.Add(parametrized, "", "site", "${x}$${")
	f.Add(composed("[part.yaml, main.yaml, ../x, part.yaml]", "{vcenters: [{name: vc}, {name: vc}]}"), "include: [main.yaml]\nspec: {a: 1, a: 2}", "a", "")
	f.Add(composed("[part.yaml]", "{vcenters: &x [*x]}"), "parameters: [{name: a, default: 1}, {name: a}]\n"+inventory, "a", "2")
	f.Fuzz(func(t *testing.T, main, part, name, value string) {
		resolved, err := topology.LoadFS(files(map[string]string{"main.yaml": main, "part.yaml": part}), "main.yaml", topology.Setting{Name: name, Value: value})
		if err != nil {
			var all topology.Errors
			if resolved != nil || !errors.As(err, &all) || len(all) == 0 {
				t.Fatalf("a topology (%v) or no errors (%T)", resolved, err)
			}
			for _, one := range all {
				text := map[string]string{"main.yaml": main, "part.yaml": part}[one.File]
				if one.Line < 1 || one.Line > lines(text)+1 || one.Column < 1 || one.Message == "" {
					t.Fatalf("an error without a place in its file: %+v", one)
				}
			}
			return
		}
		if resolved.Count().VMs > 1000 {
			return // the rest would only be slow
		}
		text, err := topology.Marshal(resolved)
		if err != nil {
			t.Fatal(err)
		}
		again, err := topology.Load("again.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(resolved, again); diff != "" {
			t.Fatalf("round trip:\n%s", diff)
		}
	})
}

// lines counts lines as YAML does.
func lines(text string) int {
	n := 1
	for _, r := range text {
		if strings.ContainsRune("\r\n\u0085\u2028\u2029", r) {
			n++
		}
	}
	return n
}
