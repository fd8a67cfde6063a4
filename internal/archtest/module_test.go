package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Module is the Go files of a module, as far as the rules need to know them.
type Module struct {
	// Path is the module's path, from go.mod.
	Path  string
	Files []File
}

// File is one Go file.
type File struct {
	// Path is relative to the module's root, with slashes; Dir is its directory, "." for the root.
	Path, Dir string
	// Package is the name in the package clause, Doc the comment above it.
	Package, Doc string
	// Test says that it is built by go test only.
	Test    bool
	Imports []Import
}

// Import is one import of a file.
type Import struct {
	Path string
	Line int
}

// Read parses every Go file of the module whose root is fsys. As the go command does, it leaves out vendor, testdata,
// directories that begin with a dot or an underscore, and nested modules.
func Read(fsys fs.FS) (*Module, error) {
	gomod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, err
	}
	m := &Module{Path: modulePath(string(gomod))}
	if m.Path == "" {
		return nil, fmt.Errorf("go.mod: names no module")
	}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name != "." && leftOut(fsys, name) {
				return fs.SkipDir
			}
			return nil
		case path.Ext(name) != ".go":
			return nil
		}
		f, err := readFile(fsys, name)
		m.Files = append(m.Files, f)
		return err
	})
	return m, err
}

func modulePath(gomod string) string {
	for line := range strings.Lines(gomod) {
		if rest, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func leftOut(fsys fs.FS, dir string) bool {
	base := path.Base(dir)
	if base == "vendor" || base == "testdata" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

func readFile(fsys fs.FS, name string) (File, error) {
	f := File{Path: name, Dir: path.Dir(name), Test: strings.HasSuffix(name, "_test.go")}
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return f, err
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, src, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return f, err
	}
	f.Package, f.Doc = parsed.Name.Name, parsed.Doc.Text()
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return f, fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		f.Imports = append(f.Imports, Import{Path: imported, Line: set.Position(spec.Pos()).Line})
	}
	return f, nil
}

// within returns the directory of an imported package of this module; false for any other package.
func (m *Module) within(imported string) (dir string, ok bool) {
	if imported == m.Path {
		return ".", true
	}
	return strings.CutPrefix(imported, m.Path+"/")
}

// dirs returns the directories that hold Go files, each with one file of it, the package's comment preferred.
func (m *Module) dirs() map[string]File {
	dirs := map[string]File{}
	for _, f := range m.Files {
		if old, ok := dirs[f.Dir]; !ok || old.Test && !f.Test || old.Doc == "" && f.Doc != "" && !f.Test {
			dirs[f.Dir] = f
		}
	}
	return dirs
}

// standard reports whether an import is of the standard library: its first element has no dot, as a host name would.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}
