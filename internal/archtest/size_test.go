package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

const (
	// maxLines is how many lines without tests a package may have.
	maxLines = 6000
	// maxSandboxMethods is how many methods sandbox.Sandbox may have. It is only ever lowered.
	maxSandboxMethods = 27
)

// A larger package has parts that must become separate packages.
func TestPackagesAreSmall(t *testing.T) {
	m := repository(t)
	root, lines := os.DirFS("../.."), map[string]int{}
	for _, f := range m.Files {
		if f.Test {
			continue
		}
		text, err := fs.ReadFile(root, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		lines[f.Dir] += bytes.Count(text, []byte("\n"))
	}
	for dir, n := range lines {
		if n > maxLines {
			t.Errorf("package %s has %d lines, at most %d are allowed", dir, n, maxLines)
		}
	}
}

// Sandbox puts the parts together. What a part does is a method of the part.
func TestSandboxHasFewMethods(t *testing.T) {
	if n := methods(t, "pkg/sandbox", "Sandbox"); n > maxSandboxMethods {
		t.Errorf("sandbox.Sandbox has %d methods, at most %d are allowed", n, maxSandboxMethods)
	} else if n < maxSandboxMethods {
		t.Logf("lower maxSandboxMethods to %d", n)
	}
}

// methods counts the methods of a type.
func methods(t *testing.T, dir, name string) (n int) {
	t.Helper()
	root := os.DirFS("../..")
	files, err := fs.Glob(root, path.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(root, f)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			receiver := f.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if id, ok := receiver.(*ast.Ident); ok && id.Name == name {
				n++
			}
		}
	}
	return n
}
