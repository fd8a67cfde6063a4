// Command racing lists the packages of this module in which goroutines meet, one a line, for "go test -race": those that
// have tests, and whose own code starts goroutines or has locks or atomics. In the other packages a test meets a race only
// through one of these; "make race" looks at all. It leaves out commands, too (below cmd, hack and internal/cli) and the tests
// below test: each links most of what there is, and starts few goroutines.
//
//	go run ./hack/racing -except REGEXP
//	go run ./hack/racing -except REGEXP -others    the rest of the packages that have tests
//
// Floor 5.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
)

func main() {
	except := flag.String("except", "^$", "leave out packages whose import paths match")
	others := flag.Bool("others", false, "list the packages in which no goroutines meet")
	flag.Parse()
	if err := list(os.Stdout, ".", *except, *others); err != nil {
		fmt.Fprintln(os.Stderr, "racing:", err)
		os.Exit(1)
	}
}

// Package is what "go list -json" prints of a package, as far as it is needed.
type Package struct {
	Dir, ImportPath                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// list lists packages of the module that dir is in.
func list(w io.Writer, dir, except string, others bool) error {
	leave, err := regexp.Compile(except)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "list", "-json=Dir,ImportPath,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	chosen, err := choose(out, leave, others)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return err
	}
	for _, path := range chosen {
		fmt.Fprintln(w, path)
	}
	return nil
}

// programs are the packages that are left to "make race".
var programs = regexp.MustCompile(`/vsphere-sandbox/(cmd|hack|test|internal/cli)/`)

// choose reads packages to the end.
func choose(in io.Reader, leave *regexp.Regexp, others bool) ([]string, error) {
	var chosen []string
	for dec := json.NewDecoder(in); ; {
		var p Package
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return chosen, nil
		case err != nil:
			return nil, err
		}
		if leave.MatchString(p.ImportPath) || len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		meet, err := p.meet()
		if err != nil {
			return nil, err
		}
		if meet != others {
			chosen = append(chosen, p.ImportPath)
		}
	}
}

// meet reports whether the package's own code has a go statement, or imports what only code for several goroutines does.
func (p Package) meet() (bool, error) {
	if programs.MatchString(p.ImportPath) {
		return false, nil
	}
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		if concurrent(file) {
			return true, nil
		}
	}
	return false, nil
}

func concurrent(file *ast.File) bool {
	for _, spec := range file.Imports {
		if slices.Contains([]string{`"sync"`, `"sync/atomic"`, `"golang.org/x/sync/errgroup"`}, spec.Path.Value) {
			return true
		}
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		_, is := n.(*ast.GoStmt)
		found = found || is
		return !found
	})
	return found
}
