package programs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/carried"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// Finder finds programs. The zero value is useful.
type Finder struct {
	// Cache is the folder of programs. Default: vsphere-sandbox/kubernetes in the user's cache folder.
	Cache string
	// Go is the Go toolchain's command. Default: "go", looked for in $PATH.
	Go string
	// Progress is called with what is being done, at least every five seconds. It must not block. Optional.
	Progress func(string)

	// sources is the folder of the sources, for a test.
	sources string
	// built identifies the sources: see revision.
	built string
}

func (f Finder) withDefaults() (Finder, error) {
	if f.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return f, err
		}
		f.Cache = filepath.Join(dir, "vsphere-sandbox", "kubernetes")
	}
	if f.Go == "" {
		f.Go = "go"
	}
	if f.Progress == nil {
		f.Progress = func(string) {}
	}
	var err error
	f.built, err = f.revision()
	return f, err
}

// builtin is the program that comes with the main program.
func builtin() carried.Program {
	return carried.Program{Name: Name, Env: Env, Folder: "kubernetes-builtin", Archive: archive()}
}

// Find returns a program that has answered the handshake: the built-in one, that of a folder, or that of the cache. One that
// is not in the cache is built first, which takes minutes. Errors about the source are of type [coded.Error].
func (f Finder) Find(ctx context.Context, s Source) (Program, error) {
	if s.dir != "" {
		return inDir(ctx, s.dir)
	}
	r, _ := s.Release()
	if r == release.Default() {
		if p, err := findBuiltin(ctx); err == nil || !isMissing(err) {
			return p, err
		}
	}
	f, err := f.withDefaults()
	if err != nil {
		return Program{}, err
	}
	p, err := f.cached(ctx, r)
	if !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	return f.Fetch(ctx, r)
}

// Nearest returns the program of the release that is nearest to a version, of those that need not be built first: kubectl works
// with an API server that is one minor version older or newer. An empty version means the default release.
func (f Finder) Nearest(ctx context.Context, version string) (Program, error) {
	all, err := f.List()
	if err != nil {
		return Program{}, err
	}
	best, distance := release.Default(), -1
	if want, ok := release.Minor(version); ok {
		for _, l := range all {
			if d := max(l.Minor-want, want-l.Minor); l.Where != "" && (distance < 0 || d < distance) {
				best, distance = l.Release, d
			}
		}
	}
	return f.Find(ctx, Source{release: best})
}

// isMissing reports whether the main program has none.
func isMissing(err error) bool {
	_, ok := errors.AsType[*carried.NotFoundError](err)
	return ok
}

// findBuiltin needs no cache folder, nor a home for one.
func findBuiltin(ctx context.Context) (Program, error) {
	path, err := builtin().Find(ctx)
	if full, ok := errors.AsType[*carried.NoRoomError](err); ok {
		return Program{}, coded.New(CodeMissing, full.Try(), err, "no Kubernetes")
	}
	if err != nil {
		return Program{}, err
	}
	return Open(ctx, path)
}

// inDir returns the program of dir:PATH, a folder that has it, or the file itself.
func inDir(ctx context.Context, dir string) (Program, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return Program{}, err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, Name)
	}
	if _, err := os.Stat(path); err != nil {
		return Program{}, coded.New(CodeMissing, "go build -C kubernetes -o "+dir+"/"+Name+" .", err, "Kubernetes %s%s: no program", dirPrefix, dir)
	}
	return Open(ctx, path)
}

// path returns where the program of a release is in the cache.
func (f Finder) path(r release.Release) string {
	folder := fmt.Sprintf("%s-contract%d-%s-%s", r.Version, contract.Version, runtime.GOOS, runtime.GOARCH)
	if f.built != "" {
		folder += "-" + f.built
	}
	return filepath.Join(f.Cache, folder, Name)
}

// cached returns the program of a release in the cache; fs.ErrNotExist without one.
func (f Finder) cached(ctx context.Context, r release.Release) (Program, error) {
	path := f.path(r)
	if _, err := os.Stat(path); err != nil {
		return Program{}, err
	}
	if err := private.Dir(filepath.Dir(path)); err != nil { // it may be another user's program
		return Program{}, err
	}
	p, err := Open(ctx, path)
	if err == nil && p.Kubernetes != r.Version {
		err = unusable(path, nil, "is Kubernetes %s, want %s", p.Kubernetes, r.Version)
	}
	if e, ok := errors.AsType[*coded.Error](err); ok {
		e.Try = "vsphere-sandbox kubernetes remove " + r.Name()
	}
	return p, err
}

// Listed is a release with where its program is.
type Listed struct {
	release.Release
	// Where is "builtin", "cache", or "" for one that has to be fetched first.
	Where string
	// Path is the program's file, or [carried.Inside].
	Path string
	// Bytes is the size of the file; 0 without one.
	Bytes int64
	// Default: it is the release that sandboxes have by default.
	Default bool
}

// List returns every release, the newest first. It runs no program.
func (f Finder) List() ([]Listed, error) {
	f, err := f.withDefaults()
	if err != nil {
		return nil, err
	}
	var all []Listed
	for _, r := range release.All() {
		l := Listed{Release: r, Default: r == release.Default()}
		if info, err := os.Stat(f.path(r)); err == nil {
			l.Where, l.Path, l.Bytes = "cache", f.path(r), info.Size()
		}
		if l.Default {
			if from, err := builtin().Locate(); err == nil {
				l.Where, l.Path, l.Bytes = Builtin, from, 0
				if info, err := os.Stat(from); err == nil {
					l.Bytes = info.Size()
				}
			}
		}
		all = append(all, l)
	}
	return all, nil
}

// Remove removes the programs of a release from the cache, those of other sources and contracts too, and returns their folders.
func (f Finder) Remove(r release.Release) ([]string, error) {
	f, err := f.withDefaults()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(f.Cache)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var removed []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), r.Version+"-") {
			dir := filepath.Join(f.Cache, e.Name())
			if err := os.RemoveAll(dir); err != nil {
				return removed, err
			}
			removed = append(removed, dir)
		}
	}
	return removed, nil
}
