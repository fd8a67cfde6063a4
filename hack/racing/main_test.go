package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func TestConcurrent(t *testing.T) {
	for _, tc := range []struct {
		name, code string
		want       bool
	}{
		{"a go statement", "package p\nfunc f() { if true { go f() } }", true},
		{"a lock", "package p\nimport \"sync\"\nvar mu sync.Mutex", true},
		{"an atomic", "package p\nimport \"sync/atomic\"\nvar n atomic.Int32", true},
		{"a group", "package p\nimport \"golang.org/x/sync/errgroup\"\nvar g errgroup.Group", true},
		{"a pure function", "package p\nimport \"strings\"\nfunc f(s string) string { return strings.ToUpper(s) }", false},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", tc.code, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := concurrent(file); got != tc.want {
			t.Errorf("%s: %t", tc.name, got)
		}
	}
}

// The two lists have every package with tests between them, and none twice.
func TestLists(t *testing.T) {
	var meet, others strings.Builder
	if err := list(&meet, "../..", "^$", false); err != nil {
		t.Fatal(err)
	}
	if err := list(&others, "../..", "^$", true); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for path := range strings.FieldsSeq(meet.String() + others.String()) {
		if seen[path] {
			t.Errorf("%s is in both", path)
		}
		seen[path] = true
	}
	// The runner of suites has goroutines, but is a command. pkg/topology has none.
	for path, list := range map[string]string{"hack/suites\n": others.String(), "pkg/topology\n": others.String(), "pkg/sim\n": meet.String()} {
		if strings.Contains(list, path) {
			continue
		}
		t.Errorf("meet:\n%s\nothers:\n%s", meet.String(), others.String())
	}
}
