package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// So does the page of the other mode.
func TestParavirtual(t *testing.T) {
	text, err := os.ReadFile("paravirtual.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	namesTests(t, "paravirtual.md", page)
	for file, pattern := range map[string]string{
		"../pkg/provider/paravirtual/events.go":       `Reason\w+\s+= "(\w+)"`,
		"../pkg/provider/paravirtual/loadbalancer.go": `Reason\w+\s+= "(\w+)"`,
		"../pkg/provider/paravirtual/podsubnets.go":   `Reason\w+\s+= "(\w+)"`,
		"../pkg/provider/command_paravirtual.go":      `Var\(\S+, "([a-z-]+)"`,
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(source), -1)
		for _, m := range found {
			if !strings.Contains(page, "`"+m[1]+"`") && !strings.Contains(page, "`--"+m[1]) {
				t.Errorf("paravirtual.md does not name %s (%s)", m[1], file)
			}
		}
		if len(found) == 0 {
			t.Errorf("%s: nothing like %s", file, pattern)
		}
	}
}

// The page names every event's reason, every metric and every flag of the provider's own, and the tests that it names are
// there.
func TestProvider(t *testing.T) {
	text, err := os.ReadFile("provider.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	namesTests(t, "provider.md", page)
	for glob, pattern := range map[string]string{
		"../pkg/provider/*.go":         `Reason\w+\s+= "(\w+)"`,
		"../pkg/provider/address/*.go": `\sReason = "(\w+)"`,
		"../pkg/provider/command.go":   `Var\(\S+, "([a-z-]+)"`,
	} {
		files, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		names := 0
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(source), -1) {
				names++
				if !strings.Contains(page, "`"+m[1]+"`") && !strings.Contains(page, "`--"+m[1]) {
					t.Errorf("provider.md does not tell of %s (%s)", m[1], file)
				}
			}
		}
		if names == 0 {
			t.Errorf("%s: nothing like %s", glob, pattern)
		}
	}
}
