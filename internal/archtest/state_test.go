package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// states are the variables of packages that may change, each with its reason.
func states() map[string]string {
	return map[string]string{
		"internal/child.spawn": "children have to be started by one thread of the process",
		"internal/wire.chunks": "a pool of equal buffers",
		"pkg/sim.globals":      "it guards what vcsim keeps once for the process",
	}
}

// TestNoState finds variables of packages that can change: that are written to, whose address is taken, that begin without
// a value, or that are made for several goroutines. A table that is only read is a constant that Go cannot spell.
func TestNoState(t *testing.T) {
	allowed := states()
	module := os.DirFS("../..")
	set := token.NewFileSet()
	packages := map[string][]*ast.File{}
	err := fs.WalkDir(module, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && leftOut(module, name) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(set, name, src, parser.ParseComments)
		packages[path.Dir(name)] = append(packages[path.Dir(name)], f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, files := range packages {
		for name, at := range state(files) {
			if allowed[dir+"."+name] == "" {
				t.Errorf("%s: %s.%s can change: make it a field, or say in this test why it has to be a variable", set.Position(at), dir, name)
			}
			delete(allowed, dir+"."+name)
		}
	}
	for name := range allowed {
		t.Errorf("%s does not change, or is gone", name)
	}
}

// state returns the variables of a package that can change, and where that is seen first.
func state(files []*ast.File) map[string]token.Pos {
	found := map[string]token.Pos{}
	variables := map[string]bool{}
	own := map[*ast.Object]bool{} //nolint:staticcheck // without types it is enough to tell a variable from a local of its name
	elsewhere := map[*ast.Ident]bool{}
	for _, f := range files {
		for _, id := range f.Unresolved {
			elsewhere[id] = true
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				spec := s.(*ast.ValueSpec)
				for _, id := range spec.Names {
					variables[id.Name], own[id.Obj] = true, true
					if len(spec.Values) == 0 && !embedded(g.Doc) && !embedded(spec.Doc) {
						found[id.Name] = id.Pos()
					}
				}
				for i, value := range spec.Values {
					if shared(value) {
						found[spec.Names[i].Name] = spec.Names[i].Pos()
					}
				}
			}
		}
	}
	written := func(e ast.Expr) {
		for {
			switch x := e.(type) {
			case *ast.ParenExpr:
				e = x.X
			case *ast.IndexExpr:
				e = x.X
			case *ast.SelectorExpr:
				e = x.X
			case *ast.StarExpr:
				e = x.X
			case *ast.Ident:
				if variables[x.Name] && (own[x.Obj] || elsewhere[x]) {
					found[x.Name] = x.Pos()
				}
				return
			default:
				return
			}
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.AssignStmt:
				for _, e := range x.Lhs {
					written(e)
				}
			case *ast.IncDecStmt:
				written(x.X)
			case *ast.UnaryExpr:
				if x.Op == token.AND {
					written(x.X)
				}
			case *ast.CallExpr:
				if id, ok := x.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear") {
					written(x.Args[0])
				}
			}
			return true
		})
	}
	return found
}

// embedded reports whether the compiler gives a variable its value.
func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// shared reports whether a value is made for several goroutines. A value that is computed once is not.
func shared(value ast.Expr) (yes bool) {
	ast.Inspect(value, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && (id.Name == "sync" || id.Name == "atomic") && !strings.HasPrefix(s.Sel.Name, "Once") {
				yes = true
			}
		}
		_, channel := n.(*ast.ChanType)
		yes = yes || channel
		return true
	})
	return yes
}

func TestStateIsSeen(t *testing.T) {
	const src = `package p
var table, assigned, entry, field, counted, taken, deleted, pool, begins, text = m(), 1, m(), s{}, 0, s{}, m(), sync.Pool{}, make(chan int), once(sync.OnceValue(f))
var empty int
func f(table int) { table++; assigned = 2; entry["a"] = 1; field.x.y = 1; counted++; g(&taken); delete(deleted, "a"); text := 1; text++ }
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(state([]*ast.File{f})))
	if want := []string{"assigned", "begins", "counted", "deleted", "empty", "entry", "field", "pool", "taken"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
