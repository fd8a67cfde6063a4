package tutorials

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Links of the pages lead somewhere, and the list of tutorials leads to each of them.
func TestLinks(t *testing.T) {
	root := filepath.Join("..", "..", "tutorials")
	link := regexp.MustCompile(`\]\(([^)\s#]+)(#[^)\s]*)?\)`)
	files := []string{filepath.Join(root, "README.md")}
	listed := map[string]bool{}
	for _, page := range pages(t) {
		files = append(files, page.File)
	}
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to := filepath.Join(filepath.Dir(file), m[1])
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: link to %s leads nowhere", file, m[1])
			}
			if i == 0 {
				listed[to] = true
			}
		}
	}
	for _, file := range files[1:] {
		if !listed[file] {
			t.Errorf("%s: not in the list of tutorials", file)
		}
	}
}
