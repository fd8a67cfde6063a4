package report_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Users of an error need the next step: every error of a command has one, except for those of other tools.
func TestEveryErrorSaysWhatToTry(t *testing.T) {
	without := map[string]string{
		"command/pick.go":  "the command that looked says how to list",
		"doctor/doctor.go": "each finding that was printed has its own",
		"down/down.go":     "of a sandbox without a known process nobody knows what to do",
	}
	files := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		below := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		if without[below] != "" || strings.HasPrefix(below, "report/") {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				for _, at := range silent(f) {
					t.Errorf("%s: an error that does not say what to try", files.Position(at))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// silent are the places of a function where it makes an error that has no Try, nor gets one later on.
func silent(f *ast.FuncDecl) (found []token.Pos) {
	later := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if s, ok := to.(*ast.SelectorExpr); ok && s.Sel.Name == "Try" {
					later = true
				}
			}
		case *ast.CompositeLit:
			if named(n.Type, "Error") && !tries(n) {
				found = append(found, n.Pos())
			}
		case *ast.CallExpr:
			if empty, ok := first(n).(*ast.BasicLit); ok && named(n.Fun, "UsageError") && empty.Value == `""` {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	if later {
		return nil
	}
	return found
}

func first(call *ast.CallExpr) ast.Expr {
	if len(call.Args) == 0 {
		return nil
	}
	return call.Args[0]
}

// named reports whether an expression is that name of package report.
func named(e ast.Expr, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	from, ok := s.X.(*ast.Ident)
	return ok && from.Name == "report"
}

func tries(lit *ast.CompositeLit) bool {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Try" {
				return true
			}
		}
	}
	return false
}
