package csidriver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
)

// Kind is the kind of place that a driver comes from. Its text stands before the colon of a source.
type Kind string

// The kinds.
const (
	Image  Kind = "image"
	Module Kind = "module"
)

// Source is a place that a driver comes from. Make one with [Parse].
type Source struct {
	kind Kind
	ref  string
}

// Syntax is what [Parse] understands, for messages and helps.
const Syntax = "image:REF or module:VERSION"

// Parse reads "image:REF", the name of the driver's image with a tag, or "module:VERSION", a release of upstream's module.
// Errors are of type [coded.Error].
func Parse(text string) (Source, error) {
	kind, ref, _ := strings.Cut(text, ":")
	ref = strings.TrimPrefix(ref, "//") // image://REF
	s := Source{Kind(kind), ref}
	switch {
	case s.kind == Module && regexp.MustCompile(`^`+version+`$`).MatchString(ref):
		return s, nil
	case s.kind == Module:
		return s, coded.New(Usage, "--csi module:v3.7.0", nil, "CSI driver %q: want a version of upstream's module, of the form v3.7.0", text)
	case s.kind == Image && regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.:/_-]*/[a-z0-9/._-]+:\w[\w.-]*$`).MatchString(ref):
		return s, nil
	case s.kind == Image:
		return s, coded.New(Usage, "--csi image:registry.k8s.io/csi-vsphere/driver:v3.7.0", nil, "CSI driver %q: want an image with registry and tag", text)
	}
	return s, coded.New(Usage, "--csi module:v3.7.0", nil, "CSI driver %q: want %s", text, Syntax)
}

// version is a release: it becomes a part of paths.
const version = `v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?`

// Kind returns the kind of the source.
func (s Source) Kind() Kind { return s.kind }

// Ref is the image's name, or the module's version.
func (s Source) Ref() string { return s.ref }

// Version is the release, "" where an image's tag does not say it.
func (s Source) Version() string {
	return regexp.MustCompile(version + `$`).FindString(s.ref)
}

// String returns the text that [Parse] reads.
func (s Source) String() string { return string(s.kind) + ":" + s.ref }

const module = "sigs.k8s.io/vsphere-csi-driver/v3"

// The programs, as upstream's images have them below /bin.
const (
	Driver = "vsphere-csi"
	Syncer = "vsphere-syncer"
)

// Programs are the files of a release's programs.
type Programs struct{ Dir, Driver, Syncer string }

// releaseOf is a release of the module. Its checksum is that of go.sum for those that are known here; others are left to Go's
// checksum database.
func releaseOf(version string) upstream.Module {
	m := upstream.Module{Path: module, Version: version}
	if version == "v3.7.0" {
		m.Sum = "h1:qLKC7gXRS8fhX6CMzif1VsE4/nSePGKO71k9R9UXJJ8="
	}
	return m
}

// Build makes the programs of a release as its Dockerfiles do, static ones, unless they are there already. The first time it
// takes some minutes. Errors that are about the release are of type [coded.Error].
func Build(ctx context.Context, version string, o Options) (Programs, error) {
	dir, err := o.folder(version)
	if err != nil {
		return Programs{}, err
	}
	p := Programs{Dir: dir, Driver: filepath.Join(dir, Driver), Syncer: filepath.Join(dir, Syncer)}
	var missing []upstream.Program
	for _, of := range []upstream.Program{
		{Package: "./cmd/vsphere-csi", Path: p.Driver},
		{Package: "./cmd/syncer", Path: p.Syncer},
	} {
		// The syncer imports crypto/tls/fipsonly, which there is with this experiment alone.
		of.Env = []string{"GOEXPERIMENT=boringcrypto"}
		if _, err := os.Stat(of.Path); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, of)
		} else if err != nil {
			return p, err
		}
	}
	if len(missing) == 0 {
		return p, private.Dir(dir) // they may be another user's programs
	}
	err = o.toolchain().Build(ctx, releaseOf(version), missing...)
	var why *coded.Error
	if !errors.As(err, &why) {
		return p, err
	}
	message := fmt.Sprintf("CSI driver module:%s: %s", version, why.Message)
	switch why.Code {
	case upstream.GoMissing:
		return p, coded.New(GoMissing, "install Go (https://go.dev/dl), or use image:", why.Err, "%s", message)
	case upstream.VersionUnknown:
		return p, coded.New(VersionUnknown, "--csi module:v3.7.0", why.Err, "%s", message)
	}
	return p, coded.New(BuildFailed, "", why.Err, "%s", message)
}

// Manifest is what a release is deployed with on Kubernetes that is not of VMware's, as it was released: its namespace, then
// all else. Errors that are about the release are of type [coded.Error].
func Manifest(ctx context.Context, version string, o Options) ([]byte, error) {
	tool := o.toolchain()
	var all [][]byte
	for _, name := range []string{"namespace.yaml", "vsphere-csi-driver.yaml"} {
		text, err := tool.Read(ctx, releaseOf(version), "manifests/vanilla/"+name)
		var why *coded.Error
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, coded.New(ManifestMissing, "--csi-manifest FILE", err, "CSI driver %s: its module has no manifest", version)
		case errors.As(err, &why):
			code := ManifestMissing
			if why.Code == upstream.GoMissing { // which this machine lacks, not the release
				code = GoMissing
			}
			return nil, coded.New(code, "--csi-manifest FILE", why.Err, "CSI driver %s: its manifest: %s", version, why.Message)
		case err != nil:
			return nil, err
		}
		all = append(all, bytes.TrimRight(text, "\n"))
	}
	return append(bytes.Join(all, []byte("\n---\n")), '\n'), nil
}

// Options say where and how. The zero value is ready to use.
type Options struct {
	// Cache is the folder in which programs are kept. Default: vsphere-sandbox in the user's cache folder.
	Cache string
	// Progress is called with each step. It must not block. Optional.
	Progress func(format string, args ...any)
	// Go is the Go toolchain's command. Default: "go", looked for in $PATH.
	Go string
	// Arch is what programs are built for. They are for Linux, where pods run. Default: this machine's.
	Arch string
}

func (o Options) toolchain() upstream.Toolchain {
	return upstream.Toolchain{Go: o.Go, OS: "linux", Arch: o.arch(), Progress: o.Progress}
}

func (o Options) arch() string { return cmp.Or(o.Arch, runtime.GOARCH) }

// folder is where the programs of a release are.
func (o Options) folder(version string) (string, error) {
	cache := o.Cache
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(dir, "vsphere-sandbox")
	}
	return filepath.Join(cache, "upstream", "csi", version, "linux-"+o.arch()), nil
}

// Codes of a [coded.Error]: stable kebab-case ids.
const (
	Usage           = "usage"
	GoMissing       = "go-missing"
	VersionUnknown  = "csi-version-unknown"
	BuildFailed     = "csi-build-failed"
	ManifestMissing = "csi-manifest-missing"
)
