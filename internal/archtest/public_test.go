package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// public are the packages that other modules import.
func public() []string {
	return []string{"pkg/sim", "pkg/provider", "pkg/csi", "pkg/topology", "pkg/event"}
}

// Other modules cannot name types of internal packages, so what is exported to them does not have any but by an alias.
func TestPublicTypes(t *testing.T) {
	for _, dir := range public() {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, use := range internalTypes(f) {
				t.Errorf("%s: %s", name, use)
			}
		}
	}
}

func TestInternalTypes(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
import ("m/internal/cert"; p "m/internal/pace"; "m/pkg/vc")
type CA = cert.CA
type Options struct { CA *CA; Key *cert.Key; own cert.Key; All map[string][]p.Speed; Ref vc.Ref }
type hidden struct { Key cert.Key }
func New(o Options) (*cert.Key, error) { return nil, nil }
func (h hidden) Do(p.Speed) {}
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(internalTypes(f), " ")
	if want := "Options: cert.Key Options: p.Speed New: cert.Key"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// internalTypes returns the types of internal packages in a file's exported fields and functions.
func internalTypes(f *ast.File) (found []string) {
	internal := map[string]bool{}
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		internal[name] = strings.Contains(path, "/internal/")
	}
	check := func(of string, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && internal[x.Name] {
					found = append(found, of+": "+x.Name+"."+s.Sel.Name)
				}
			}
			return true
		})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv)) {
				check(d.Name.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && t.Name.IsExported() && !t.Assign.IsValid() {
					checkType(t, check)
				}
			}
		}
	}
	return found
}

func exportedReceiver(r *ast.FieldList) bool {
	t := r.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	name, ok := t.(*ast.Ident)
	return ok && name.IsExported()
}

func checkType(t *ast.TypeSpec, check func(of string, n ast.Node)) {
	s, ok := t.Type.(*ast.StructType)
	if !ok {
		check(t.Name.Name, t.Type)
		return
	}
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 || f.Names[0].IsExported() {
			check(t.Name.Name, f.Type)
		}
	}
}
