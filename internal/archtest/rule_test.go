package archtest

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// Each archive in testdata is a small module, and in the file "want" what is wrong with it.
func TestFixtures(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	broken := map[string]bool{}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			m, want := fixture(t, a)
			var got strings.Builder
			for _, v := range Check(m) {
				fmt.Fprintln(&got, v)
				broken[v.Rule] = true
			}
			if *update {
				rewrite(t, name, a, got.String())
				return
			}
			if diff := cmp.Diff(want, got.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	for _, r := range Rules() {
		if !broken[r.Name] {
			t.Errorf("rule %q: no archive in testdata breaks it", r.Name)
		}
	}
}

func fixture(t *testing.T, a *txtar.Archive) (m *Module, want string) {
	t.Helper()
	fsys := fstest.MapFS{"go.mod": {Data: []byte("module example.com/m\n")}}
	for _, f := range a.Files {
		if f.Name == "want" {
			want = string(f.Data)
			continue
		}
		fsys[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	m, err := Read(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return m, want
}

func rewrite(t *testing.T, name string, a *txtar.Archive, want string) {
	t.Helper()
	a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
	a.Files = append(a.Files, txtar.File{Name: "want", Data: []byte(want)})
	if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every line of every table can fail: a module that does what it forbids, and nothing else, is found out.
func TestEveryLineCanFail(t *testing.T) {
	for _, lower := range floors() {
		for _, upper := range floors() {
			if upper.number > lower.number {
				breaks(t, "floors", lower.trees[0], module(upper.trees[0]))
			}
		}
	}
	for _, s := range seals() {
		breaks(t, "sealed", s.tree, module("internal/pace"))
	}
	for _, c := range confinements() {
		for _, i := range c.imports {
			breaks(t, "confined", "pkg/event", example(i))
		}
	}
	for _, l := range links() {
		for _, p := range l.packages {
			if p == "..." {
				p = "pkg/sandbox"
			}
			if l.never == nil {
				l.never = []string{"example.org/anything"}
			}
			for _, i := range l.never {
				breaks(t, "linked", p, example(i))
			}
		}
	}
	for _, r := range reservations() {
		breaks(t, "reserved", "internal/cli/status", module(r.target))
	}
	for _, name := range vague() {
		m := &Module{Path: "example.com/m", Files: []File{{Path: "pkg/sim/" + name + "/x.go", Dir: "pkg/sim/" + name, Package: name, Doc: "Doc."}}}
		if got := Check(m); len(got) != 1 || got[0].Rule != "names" {
			t.Errorf("package called %q: %v", name, got)
		}
	}
}

// breaks wants an import to break the rule.
func breaks(t *testing.T, rule, from, imported string) {
	t.Helper()
	dir := example(from)
	m := &Module{Path: "example.com/m", Files: []File{
		{Path: dir + "/x.go", Dir: dir, Package: "x", Doc: "Doc.", Imports: []Import{{imported, 3}}},
	}}
	for _, v := range Check(m) {
		if v.Rule == rule && v.Line == 3 && v.What != "" && v.Why != "" {
			return
		}
	}
	t.Errorf("%s: %s may import %s, and the table says that it may not", rule, dir, imported)
}

// example is a path that a pattern stands for.
func example(pattern string) string {
	return strings.ReplaceAll(strings.TrimSuffix(pattern, "/..."), "...", "any")
}

func module(pattern string) string { return "example.com/m/" + example(pattern) }

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"pkg/sim", "pkg/sim", true},
		{"pkg/sim", "pkg/sim/gate", false},
		{"pkg/sim/...", "pkg/sim", true},
		{"pkg/sim/...", "pkg/sim/gate", true},
		{"pkg/sim/...", "pkg/simple", false},
		{"...", "anything/at/all", true},
		{"a/.../simulator/...", "a/vapi/simulator", true},
		{"a/.../simulator/...", "a/vapi/simulator/internal", true},
		{"a/.../simulator/...", "a/vapi/simulators", false},
		{"a.b/c", "axb/c", false},
	} {
		if got := match([]string{tc.pattern}, tc.name); got != tc.want {
			t.Errorf("match(%q, %q) = %t", tc.pattern, tc.name, got)
		}
	}
}

func TestReadLeavesOutWhatGoDoes(t *testing.T) {
	fsys := fstest.MapFS{
		"go.mod":              {Data: []byte("module example.com/m\n\ngo 1.26\n")},
		"a/a_windows.go":      {Data: []byte("// Package a is.\npackage a\n\nimport \"os\"\n")},
		"a/testdata/x/x.go":   {Data: []byte("not go")},
		"vendor/v/v.go":       {Data: []byte("not go")},
		".git/g.go":           {Data: []byte("not go")},
		"_old/o.go":           {Data: []byte("not go")},
		"hack/other/go.mod":   {Data: []byte("module example.com/other\n")},
		"hack/other/other.go": {Data: []byte("not go")},
	}
	m, err := Read(fsys)
	if err != nil {
		t.Fatal(err)
	}
	want := &Module{Path: "example.com/m", Files: []File{{
		Path: "a/a_windows.go", Dir: "a", Package: "a", Doc: "Package a is.\n", Imports: []Import{{"os", 4}},
	}}}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, fsys := range map[string]fs.FS{
		"no go.mod":       fstest.MapFS{},
		"no module":       fstest.MapFS{"go.mod": {Data: []byte("go 1.26\n")}},
		"a file not Go's": fstest.MapFS{"go.mod": {Data: []byte("module m\n")}, "x.go": {Data: []byte("pack")}},
	} {
		if _, err := Read(fsys); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}
