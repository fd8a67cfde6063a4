package archtest

import (
	"fmt"
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

// choosers are the functions that may ask which ground or which source of vCenters a sandbox has, each with its reason.
func choosers() map[string]string {
	return map[string]string{
		"pkg/sandbox.newGround": "it makes the ground that the options choose",
		"pkg/sandbox.kind":      "it returns the options of the ground of kind",
		"pkg/sandbox.source":    "it makes the source of vCenters that the options choose",
		"pkg/sandbox.check":     "it refuses options that do not go together",
	}
}

// TestGroundsDecide finds code that branches on the kind of a ground, or on real vCenters. A ground decides what differs
// by its methods and optional interfaces, and a source of vCenters by those of vcenters.Source. Package tui shows the kind.
func TestGroundsDecide(t *testing.T) {
	allowed := choosers()
	module := os.DirFS("../..")
	set := token.NewFileSet()
	err := fs.WalkDir(module, "pkg", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (leftOut(module, name) || name == "pkg/ground" || name == "pkg/tui") {
			return fs.SkipDir
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(set, name, src, 0)
		if err != nil {
			return err
		}
		for function, questions := range groundQuestions(f) {
			key := path.Dir(name) + "." + function
			if _, ok := choosers()[key]; ok {
				delete(allowed, key)
				continue
			}
			for _, q := range questions {
				t.Errorf("%s: %s: ask the ground by a method or an optional interface", set.Position(q.at), q.what)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key := range allowed {
		t.Errorf("%s does not ask any more, or is gone", key)
	}
}

// A field of ground.Facts that is true or false is a question: which ground is it?
func TestFactsAreValues(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../../pkg/ground/ground.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	facts, ok := f.Scope.Lookup("Facts").Decl.(*ast.TypeSpec).Type.(*ast.StructType)
	if !ok {
		t.Fatal("Facts is no struct")
	}
	for _, field := range facts.Fields.List {
		if is, ok := field.Type.(*ast.Ident); ok && is.Name == "bool" {
			t.Errorf("Facts.%s: make it an optional interface", field.Names[0])
		}
	}
}

type question struct {
	at   token.Pos
	what string
}

// groundQuestions returns where a file asks which ground there is, by function.
func groundQuestions(f *ast.File) map[string][]question {
	grounds, clusters := map[string]bool{}, map[string]bool{} // names of imports
	for _, i := range f.Imports {
		imported := strings.Trim(i.Path.Value, `"`)
		name := path.Base(imported)
		if i.Name != nil {
			name = i.Name.Name
		}
		switch {
		case strings.Contains(imported, "/pkg/ground/"):
			grounds[name] = true
		case slices.Contains([]string{"embedded", "kind", "existing"}, path.Base(imported)) && strings.Contains(imported, "/pkg/cluster/"):
			clusters[name] = true
		}
	}
	found := map[string][]question{}
	for _, d := range f.Decls {
		function := ""
		if fn, ok := d.(*ast.FuncDecl); ok {
			function = fn.Name.Name
		}
		ask := func(n ast.Node, format string, args ...any) {
			found[function] = append(found[function], question{n.Pos(), fmt.Sprintf(format, args...)})
		}
		asserted := func(e ast.Expr) {
			if star, ok := e.(*ast.StarExpr); ok {
				e = star.X
			}
			x, name := selector(e)
			if clusters[x] && name == "Cluster" || x == "ground" && name == "None" {
				ask(e, "asserts that it is a %s.%s", x, name)
			}
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				asserted(n.Type)
			case *ast.TypeSwitchStmt:
				for _, c := range n.Body.List {
					for _, e := range c.(*ast.CaseClause).List {
						asserted(e)
					}
				}
			case *ast.SelectorExpr:
				x, name := selector(n)
				switch {
				case grounds[x] && (name == "Ground" || name == "New"):
					ask(n, "names %s.%s", x, name)
				case name == "VCentersOnly", x == "Cluster" && slices.Contains([]string{"Kind", "InCluster", "Existing"}, name):
					ask(n, "reads option %s", name)
				}
			case *ast.BinaryExpr:
				if n.Op != token.EQL && n.Op != token.NEQ {
					break
				}
				for _, e := range []ast.Expr{n.X, n.Y} {
					x, name := selector(e)
					_, none := n.Y.(*ast.Ident)
					if kindConstant(x, name) || factOfGround(x, name) || name == "Real" && none {
						ask(n, "compares %s.%s", x, name)
					}
				}
			case *ast.CaseClause:
				for _, e := range n.List {
					if x, name := selector(e); kindConstant(x, name) {
						ask(e, "compares %s.%s", x, name)
					}
				}
			}
			return true
		})
	}
	return found
}

// kindConstant reports whether it is a value of the status that names the kind of a ground, of its Nodes or of its vCenters.
func kindConstant(x, name string) bool {
	return x == "api" && slices.Contains([]string{
		"ClusterEmbedded", "ClusterKind", "ClusterPod", "ClusterExisting", "ClusterNone",
		"NodesHollow", "NodesContainer", "NodesLight", "NodesMixed", "NodesReal", "InventoryReal", "InventorySimulated",
	}, name)
}

// factOfGround reports whether it is a field of ground.Facts.
func factOfGround(x, name string) bool {
	return strings.EqualFold(x, "facts") && slices.Contains([]string{"Cluster", "Namespace", "Labels", "Speed"}, name)
}

// selector returns the last two names of a selector: of s.opts.Cluster.Kind they are Cluster and Kind.
func selector(e ast.Expr) (x, name string) {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	left := s.X
	if call, ok := left.(*ast.CallExpr); ok {
		left = call.Fun
	}
	switch left := left.(type) {
	case *ast.Ident:
		x = left.Name
	case *ast.SelectorExpr:
		x = left.Sel.Name
	}
	return x, s.Sel.Name
}

func TestGroundQuestions(t *testing.T) {
	const src = `package p
import (
	"example.com/m/pkg/ground/kind"
	cp "example.com/m/pkg/cluster/embedded"
	"example.com/m/pkg/ground"
)
func option() { if s.opts.Cluster.Kind != nil {} }
func alone() { if o.VCentersOnly {} }
func real() { if s.opts.Real != nil {} }
func fact() { if g.Facts().Cluster == "kind" {} }
func field() { if s.facts.Namespace != "" {} }
func status() { switch g { case api.ClusterKind: } }
func nodes() bool { return api.NodesReal == n }
func named() { _ = kind.New }
func asserted() { _, _ = g.(*kind.Ground) }
func cluster() { _ = c.(*cp.Cluster) }
func switched() { switch g.(type) { case ground.None: } }
func capable() { _, _ = g.(ground.Shared); var _ kind.Options; if row.Real != "" {} }
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(groundQuestions(f)))
	want := []string{"alone", "asserted", "cluster", "fact", "field", "named", "nodes", "option", "real", "status", "switched"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
