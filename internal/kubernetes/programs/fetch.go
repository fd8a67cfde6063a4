package programs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
)

// Fetch builds the program of a release into the cache, in the place of one that is there. It takes minutes, and some 3 GB for
// Go's build cache. What it writes is complete or not there.
func (f Finder) Fetch(ctx context.Context, r release.Release) (Program, error) {
	f, err := f.withDefaults()
	if err != nil {
		return Program{}, err
	}
	sources, clean, err := f.findSources()
	if err != nil {
		return Program{}, coded.New(CodeMissing, "make kubernetes   # in a checkout of vsphere-sandbox, with "+Env+"\nvsphere-sandbox up --kubernetes dir:PATH", err,
			"Kubernetes %s: it is not in the cache and cannot be built", r.Version)
	}
	defer clean()
	path := f.path(r)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Program{}, err
	}
	err = f.build(ctx, r, sources, path)
	if err == nil {
		return f.cached(ctx, r)
	}
	_ = os.Remove(filepath.Dir(path)) // stays when it has an older program
	if ctx.Err() != nil {
		return Program{}, context.Cause(ctx)
	}
	return Program{}, buildError(r, err)
}

// buildError makes the error of a build one about the release.
func buildError(r release.Release, err error) error {
	why, ok := errors.AsType[*coded.Error](err)
	if !ok {
		return err
	}
	e := coded.New(CodeBuild, "", why.Err, "Kubernetes %s: %s", r.Version, why.Message)
	if why.Code == upstream.GoMissing {
		e.Code, e.Try = CodeGo, "install Go (https://go.dev/dl), or use dir:PATH with a program that was built elsewhere"
	}
	return e
}

// build runs the Go toolchain, and reports the package that was compiled last every three seconds.
func (f Finder) build(ctx context.Context, r release.Release, sources, path string) error {
	const every = 3 * time.Second
	start, last, compiled := time.Now(), time.Now(), 0
	f.Progress("Kubernetes " + r.Version + ": building (the first time some minutes)")
	tool := upstream.Toolchain{Go: f.Go, Line: func(line string) {
		compiled++
		if now := time.Now(); now.Sub(last) >= every {
			last = now
			f.Progress(fmt.Sprintf("Kubernetes %s: %ds, %d packages, %s", r.Version, int(now.Sub(start).Seconds()), compiled, line))
		}
	}}
	flags := append([]string{"-v"}, r.Flags()...)
	return tool.BuildFolder(ctx, filepath.Join(sources, "kubernetes"), upstream.Program{Package: ".", Path: path, Linker: r.Linker()}, flags...)
}

// findSources returns a folder with the sources of the program: those that this program carries, unpacked, or else the checkout
// that it was built in.
func (f Finder) findSources() (dir string, clean func(), err error) {
	if f.sources == "" && len(sources()) > 0 {
		dir, err := os.MkdirTemp("", "kubernetes-sources-")
		if err != nil {
			return "", nil, err
		}
		clean := func() { _ = os.RemoveAll(dir) }
		if err := extract(sources(), dir); err != nil {
			clean()
			return "", nil, err
		}
		return dir, clean, nil
	}
	dir, err = f.checkout()
	return dir, func() {}, err
}

// checkout returns the root of the checkout that this program is in.
func (f Finder) checkout() (string, error) {
	if f.sources != "" {
		return f.sources, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", err
	}
	root := filepath.Dir(filepath.Dir(self)) // of bin/vsphere-sandbox
	if _, err := os.Stat(filepath.Join(root, "kubernetes", "go.mod")); err != nil {
		return "", fmt.Errorf("this build carries no sources of it, and is not in a checkout: %w", err)
	}
	return root, nil
}
