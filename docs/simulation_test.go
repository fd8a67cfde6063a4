package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// The page names every correction that can be switched off, and the tests that it names are there.
func TestSimulation(t *testing.T) {
	text, err := os.ReadFile("simulation.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, b := range stock.All() {
		if !strings.Contains(page, "\n| `"+string(b)+"` |") {
			t.Errorf("simulation.md does not say what stock %s is", b)
		}
	}
	namesTests(t, "simulation.md", page)
}

// namesTests wants the tests that a page names to be there.
func namesTests(t *testing.T, name, page string) {
	t.Helper()
	there := tests(t, "../pkg", "../internal", "../test")
	for _, found := range regexp.MustCompile("`((?:Test|Benchmark|Fuzz)[A-Z]\\w*)`").FindAllStringSubmatch(page, -1) {
		if !there[found[1]] {
			t.Errorf("%s names %s, which is not there", name, found[1])
		}
	}
}

// tests finds the tests below some folders.
func tests(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range function.FindAllStringSubmatch(string(source), -1) {
				found[m[1]] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}
