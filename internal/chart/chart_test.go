package chart

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// small returns a folder with a chart, with these files in the place of the usual ones.
func small(t *testing.T, files map[string]string) string {
	t.Helper()
	all := map[string]string{
		"Chart.yaml":             "apiVersion: v2\nname: small\nversion: 1.2.3\nkubeVersion: \">=1.30.0-0\"\n",
		"values.yaml":            "name: one\nnested: {a: 1, b: 2}\n",
		"templates/_helpers.tpl": `{{- define "small.name" -}}{{ .Release.Name }}-{{ .Values.name }}{{- end -}}`,
		"templates/b.yaml":       "kind: B\nname: {{ include \"small.name\" . }}\nsum: {{ add .Values.nested.a .Values.nested.b }}\nkube: {{ .Capabilities.KubeVersion.Version }}\n",
		"templates/a.yaml":       "kind: A\nnamespace: {{ .Release.Namespace }}\nfound: {{ len (lookup \"v1\" \"Pod\" \"\" \"\") }}\n",
		"templates/none.yaml":    "{{- if false }}\nkind: None\n{{- end }}\n",
		"templates/test.yaml":    "kind: Pod\nmetadata:\n  annotations:\n    \"helm.sh/hook\": test\n",
		"templates/NOTES.txt":    "thank you",
		"crds/c.yaml":            "kind: C\n",
	}
	maps.Copy(all, files)
	dir := filepath.Join(t.TempDir(), "small")
	for name, text := range all {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRender(t *testing.T) {
	c, err := Load(small(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	values := []string{filepath.Join(dir, "1.yaml"), filepath.Join(dir, "2.yaml")}
	for n, text := range []string{"name: two\nnested: {a: 5}\n", "name: three\n"} {
		if err := os.WriteFile(values[n], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.Render(Options{Release: "any", Namespace: "clouds", Kubernetes: "v1.35.4", Values: values})
	const want = `---
# Source: small/crds/c.yaml
kind: C
---
# Source: small/templates/a.yaml
kind: A
namespace: clouds
found: 0
---
# Source: small/templates/b.yaml
kind: B
name: any-three
sum: 7
kube: v1.35.4
`
	if err != nil || string(got) != want || c.String() != "small-1.2.3" {
		t.Errorf("%s, %v:\n%s", c, err, got)
	}
}

// What is wrong is named, with the place.
func TestBroken(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		err   string
	}{
		"function": {map[string]string{"templates/b.yaml": "x: {{ nosuch }}"}, `function "nosuch" not defined`},
		"required": {map[string]string{"templates/b.yaml": "x: {{ required \"nested.c must be set\" .Values.nested.c }}"}, "chart small-1.2.3 does not render: "},
		"nil":      {map[string]string{"templates/b.yaml": "x: {{ .Values.none.of.it }}"}, "small/templates/b.yaml:1"},
		"version":  {map[string]string{"Chart.yaml": "apiVersion: v2\nname: small\nversion: 1.2.3\nkubeVersion: \">=1.99\"\n"}, "wants Kubernetes >=1.99, the cluster is v1.35.4"},
		"schema":   {map[string]string{"values.schema.json": `{"properties": {"name": {"type": "integer"}}}`}, "name"},
		"library":  {map[string]string{"Chart.yaml": "apiVersion: v2\nname: small\nversion: 1.2.3\ntype: library\n"}, "is of type library, which installs nothing"},
		"no name":  {map[string]string{"Chart.yaml": "apiVersion: v2\nversion: 1.2.3\n"}, "chart.metadata.name is required"},
		"no chart": {map[string]string{"Chart.yaml": "a: b: c"}, "Chart.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Load(small(t, tc.files))
			if err == nil {
				_, err = c.Render(Options{Release: "any", Namespace: "clouds", Kubernetes: "v1.35.4"})
			}
			if err == nil || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "\n\n") {
				t.Errorf("%v, want %s", err, tc.err)
			}
		})
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "Chart.yaml") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Read(strings.NewReader("no archive")); err == nil {
		t.Error("an archive that is none")
	}
}
