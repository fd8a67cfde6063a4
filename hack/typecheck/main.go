// Command typecheck says whether programs of this project would compile for another platform, without compiling: it checks
// the types of all that they link, from source, which takes seconds where a build from nothing takes many minutes.
//
//	go run ./hack/typecheck -os darwin -arch arm64 ./cmd/vsphere-sandbox
//	go run ./hack/typecheck -os darwin -arch arm64 -dir kubernetes .
//
// Of packages of other modules only the declarations are checked. It does not link: "make release-all" does.
//
// Floor 5.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	platform := flag.String("os", "darwin", "GOOS of the platform")
	arch := flag.String("arch", "arm64", "GOARCH of the platform")
	dir := flag.String("dir", ".", "folder of the module")
	flag.Parse()
	code, err := check(os.Stderr, *dir, *platform, *arch, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
	}
	os.Exit(code)
}

// project is how the modules of this project begin.
const project = "github.com/vsphere-sandbox/vsphere-sandbox"

// check prints what keeps the programs from compiling, and returns the exit status: 1 if there is anything.
func check(w io.Writer, dir, platform, arch string, programs []string) (int, error) {
	roots, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedModule | packages.NeedImports | packages.NeedDeps | packages.NeedCompiledGoFiles |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes,
		Dir:       dir,
		Env:       append(os.Environ(), "GOOS="+platform, "GOARCH="+arch, "CGO_ENABLED=0"),
		ParseFile: declarations,
	}, programs...)
	if err != nil {
		return 1, err
	}
	code, own := 0, 0
	packages.Visit(roots, nil, func(p *packages.Package) {
		switch {
		case strings.HasPrefix(p.PkgPath, project):
			own++
		case !slices.Contains(roots, p): // of another module; a program that does not exist is among the roots
			return
		}
		for _, e := range p.Errors {
			code = 1
			fmt.Fprintln(w, e)
		}
	})
	if own == 0 {
		return 1, fmt.Errorf("%s: no package of this project among %s", dir, strings.Join(programs, ", "))
	}
	return code, nil
}

// declarations parses a file; functions of other modules and of the standard library lose their bodies.
func declarations(set *token.FileSet, name string, src []byte) (*ast.File, error) {
	file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if file == nil || !foreign(name) {
		return file, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
	return file, err
}

// foreign says whether a file is of another module: it is in the module cache, or below GOROOT.
func foreign(name string) bool {
	return strings.Contains(name, "/pkg/mod/") || strings.Contains(name, "/go/src/")
}
