package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: a file that counts on another platform only is checked there, down to the bodies of its functions.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module "+project+"/x\n\ngo 1.26\n")
	write("main.go", "package main\n\nimport \"strings\"\n\nfunc main() { println(strings.ToUpper(name())) }\n")
	write("name_linux.go", "package main\n\nfunc name() string { return \"linux\" }\n")
	write("name_darwin.go", "package main\n\nfunc name() string { return 1 }\n")
	for platform, want := range map[string]string{
		"linux":   "",
		"darwin":  "name_darwin.go:3:29: cannot use 1",
		"windows": "main.go:5:39: undefined: name",
	} {
		var said strings.Builder
		code, err := check(&said, dir, platform, "arm64", []string{"."})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said.String(), want) || (code != 0) != (want != "") {
			t.Errorf("%s: exit status %d, said %q, want %q", platform, code, said.String(), want)
		}
	}
	if code, err := check(os.Stderr, dir, "linux", "arm64", []string{"strings"}); code != 1 || err == nil {
		t.Errorf("a package of another module: exit status %d, error %v", code, err)
	}
	var said strings.Builder
	if code, _ := check(&said, dir, "linux", "arm64", []string{".", "./typo"}); code != 1 || !strings.Contains(said.String(), "typo") {
		t.Errorf("a program that does not exist: exit status %d, said %q", code, said.String())
	}
}
