package programs

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
)

// provider is a file of the package test/e2e: a cloud provider by which a test has the VM of a node destroyed.
//
//go:embed provider_test.go.txt
var provider []byte

// TestsName is the name of the program with Kubernetes' own end-to-end tests.
const TestsName = "e2e.test"

// Tests returns the program with the end-to-end tests of a release. If it is not in the cache, it is built first, with the modules
// of the release's Kubernetes program; that takes minutes. Errors about the release are of type [coded.Error].
func (f Finder) Tests(ctx context.Context, r release.Release) (string, error) {
	f, err := f.withDefaults()
	if err != nil {
		return "", err
	}
	made := sha256.Sum256(provider)
	path := filepath.Join(f.Cache, fmt.Sprintf("%s-e2e-%x-%s-%s", r.Version, made[:4], runtime.GOOS, runtime.GOARCH), TestsName)
	if _, err := os.Stat(path); err == nil {
		return path, private.Dir(filepath.Dir(path)) // it may be another user's program
	}
	sources, clean, err := f.findSources()
	if err != nil {
		return "", coded.New(CodeMissing, "in a checkout of vsphere-sandbox: bin/vsphere-sandbox conformance", err,
			"Kubernetes %s: its tests are not in the cache and cannot be built", r.Version)
	}
	defer clean()
	work, err := os.MkdirTemp("", "kubernetes-e2e-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := testModule(filepath.Join(sources, "kubernetes"), work, r); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	stop := f.beat("Kubernetes " + r.Version + ": builds its end-to-end tests (the first time some minutes)")
	defer stop()
	toolchain := upstream.Toolchain{Go: f.Go}
	if err = copySuite(ctx, toolchain, work, r); err == nil {
		err = toolchain.BuildFolder(ctx, work, upstream.Program{Package: ".", Path: path, Linker: r.Linker(), Test: true}, "-mod=mod")
	}
	if err == nil {
		return path, nil
	}
	_ = os.Remove(filepath.Dir(path)) // it is empty
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return "", buildError(r, err)
}

// copySuite copies the package of the release that puts all tests together, and adds the provider. Go compiles no file that is added
// to a package in the module cache.
func copySuite(ctx context.Context, t upstream.Toolchain, work string, r release.Release) error {
	module, err := t.Dir(ctx, upstream.Module{Path: "k8s.io/kubernetes", Version: r.Version})
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(module, "test", "e2e", "*.go"))
	for _, file := range files {
		text, rerr := os.ReadFile(file)
		err = errors.Join(err, rerr, os.WriteFile(filepath.Join(work, filepath.Base(file)), text, 0o600))
	}
	return errors.Join(err, os.WriteFile(filepath.Join(work, "sandbox_provider_test.go"), provider, 0o600))
}

// beat reports a text at once and every three seconds until stop is called.
func (f Finder) beat(text string) (stop func()) {
	f.Progress(text)
	began, ticker, done := time.Now(), time.NewTicker(3*time.Second), make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				f.Progress(fmt.Sprintf("%s, %ds", text, int(time.Since(began).Seconds())))
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
		<-ended
	}
}

// own finds the lines of a module file that are about this repository.
var own = regexp.MustCompile(`(?m)^.*github\.com/vsphere-sandbox/.*\n`)

// testModule writes a module that has the modules of the Kubernetes program of a release, without this repository. The Go
// toolchain adds what the tests need beside them, from the requirements of k8s.io/kubernetes.
func testModule(from, to string, r release.Release) error {
	name := filepath.Join(from, r.ModFile())
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text = append([]byte("module e2e\n\n"), own.ReplaceAll(text, nil)...)
	sums, err := os.ReadFile(name[:len(name)-len("mod")] + "sum")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(to, "go.mod"), text, 0o600), os.WriteFile(filepath.Join(to, "go.sum"), sums, 0o600))
}
