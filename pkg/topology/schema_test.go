package topology_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// The schema that is built in is the one that the types make. -update writes it again.
func TestSchemaIsCurrent(t *testing.T) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(generate(t)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.json", text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(text.String(), string(topology.Schema())); diff != "" {
		t.Errorf("go test ./pkg/topology -run Schema -update writes it anew (-types +schema.json):\n%s", diff)
	}
}

func schema(t *testing.T) validator {
	t.Helper()
	var root object
	if err := json.Unmarshal(topology.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	return validator{root}
}

// TestSchemaTakesValid: the schema accepts every valid file: the embedded scenarios, the test data, and marshaled topologies.
func TestSchemaTakesValid(t *testing.T) {
	s := schema(t)
	files := append(glob(t, "testdata/valid-*.yaml"), glob(t, "testdata/valid-*.resolved")...)
	for _, file := range append(files, glob(t, "../../scenarios/*.yaml")...) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var value any
			if err := yaml.Unmarshal(read(t, file), &value); err != nil {
				t.Fatal(err)
			}
			for _, wrong := range s.check(s.root, value, "") {
				t.Error(wrong)
			}
		})
	}
}

// What editors can tell from the schema.
func TestSchemaRefuses(t *testing.T) {
	s := schema(t)
	tests := map[string]struct{ text, want string }{
		"a part":          {"spec: {seed: x}", "lacks apiVersion"},
		"unknown key":     {"metadata: {nam: x}", "unknown key nam"},
		"no name":         {"spec: {vcenters: [{version: 7.0.3}]}", ".spec.vcenters[0]: lacks name"},
		"no number":       {"spec: {vcenters: [{name: v, datacenters: [{name: d, vms: [{name: a, replicas: many}]}]}]}", "vms[0].replicas: is nothing that can stand here"},
		"no size":         {"spec: {vcenters: [{name: v, datacenters: [{name: d, vms: [{name: a, memory: 4GB}]}]}]}", "vms[0].memory: is nothing"},
		"no choice":       {"spec: {stock: [everything]}", ".spec.stock[0]: is nothing"},
		"parameter":       {"parameters: [{name: x, type: float}]", ".parameters[0].type: is none of"},
		"another version": {"apiVersion: v1", ".apiVersion: is none of"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var value any
			if err := yaml.Unmarshal([]byte(test.text), &value); err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(s.check(s.root, value, ""), "\n"); !strings.Contains(all, test.want) {
				t.Errorf("found %q, want %q", all, test.want)
			}
		})
	}
	for name, text := range map[string]string{"parametrized": parametrized, "included": composed("[a.yaml]", "{}")} {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if wrong := s.check(s.root, value, ""); len(wrong) > 0 {
			t.Errorf("%s: %v", name, wrong)
		}
	}
}
