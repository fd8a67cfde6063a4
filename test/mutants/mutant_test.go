package mutants

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

const root = "../.."

// least is how many behaviors have to be proven.
const least = 12

// A mutant that no longer fits the sources, or a scenario that is not there, is found without building anything.
func TestMutantsFit(t *testing.T) {
	all := All()
	if len(all) < least {
		t.Errorf("%d mutants, want at least %d", len(all), least)
	}
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, m := range all {
		if !name.MatchString(m.Name) || seen[m.Name] || m.Breaks == "" || len(m.Caught) == 0 {
			t.Errorf("%+v: a mutant has a name of its own, says what it breaks and is caught", m)
		}
		seen[m.Name] = true
		t.Run(m.Name, func(t *testing.T) {
			if !strings.HasPrefix(m.File, "pkg/provider/") && !m.OfSandbox() {
				t.Errorf("%s is no part of the provider", m.File)
			}
			source, err := os.ReadFile(filepath.Join(root, m.File))
			if err != nil {
				t.Fatal(err)
			}
			changed, err := m.Apply(string(source))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.ParseFile(token.NewFileSet(), m.File, changed, parser.SkipObjectResolution); err != nil {
				t.Errorf("it is no Go any more: %v", err)
			}
			for _, c := range m.Caught {
				if _, err := scenario.LoadFile(filepath.Join(root, c.Path())); err != nil {
					t.Error(err)
				}
				if _, err := regexp.Compile(c.Step); err != nil || c.Step == "" {
					t.Errorf("%s: step %q: %v", c.Scenario, c.Step, err)
				}
			}
		})
	}
}

// Of these themes, every scenario has proven that it fails when the provider is broken for it.
func TestScenariosHaveMutants(t *testing.T) {
	proven := map[string]bool{}
	for _, m := range All() {
		for _, c := range m.Caught {
			proven[c.Path()] = true
		}
	}
	for _, theme := range []string{"supervisor", "loadbalancer"} {
		files, err := filepath.Glob(filepath.Join(root, "scenarios", theme, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("scenarios/%s: %d files, %v", theme, len(files), err)
		}
		for _, file := range files {
			if path := "scenarios/" + theme + "/" + filepath.Base(file); !proven[path] {
				t.Errorf("%s: no mutant fails it, so that nothing shows what it is worth", path)
			}
		}
	}
}

func TestApply(t *testing.T) {
	m := Mutant{Name: "m", File: "f.go", Old: "a == b", New: "a != b"}
	if got, err := m.Apply("if a == b {"); err != nil || got != "if a != b {" {
		t.Errorf("%q, %v", got, err)
	}
	for _, source := range []string{"", "a == b; a == b"} {
		if _, err := m.Apply(source); err == nil {
			t.Errorf("%q: changed all the same", source)
		}
	}
}
