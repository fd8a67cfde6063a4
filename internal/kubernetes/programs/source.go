package programs

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
)

// Builtin names the default release, which comes with the main program.
const Builtin = "builtin"

const dirPrefix = "dir:"

// Source is where a Kubernetes program comes from. The zero value is the built-in one.
type Source struct {
	release release.Release // zero for dir
	dir     string
}

// Parse reads builtin (also ""), a Kubernetes version such as v1.35, or dir:PATH. An error is a [coded.Error].
func Parse(text string) (Source, error) {
	if dir, ok := strings.CutPrefix(text, dirPrefix); ok {
		if dir == "" {
			return Source{}, coded.New(CodeUsage, "dir:PATH, a folder with "+Name, nil, "Kubernetes %s: names no folder", text)
		}
		return Source{dir: dir}, nil
	}
	if text == "" || text == Builtin {
		return Source{}, nil
	}
	if r, ok := release.Find(text); ok {
		return Source{release: r}, nil
	}
	names := strings.Join(release.Names(), ", ")
	if release.Looks(text) {
		return Source{}, coded.New(CodeUnknown, names+", or --kubernetes dir:PATH with a program of it that was built elsewhere", nil, "Kubernetes %s: this release of vsphere-sandbox does not have it", text)
	}
	return Source{}, coded.New(CodeUsage, Builtin+", "+names+", or dir:PATH", nil, "Kubernetes %s: want a version, or dir:PATH", text)
}

// String returns what [Parse] reads: the minor version for a release.
func (s Source) String() string {
	switch {
	case s.dir != "":
		return dirPrefix + s.dir
	case s.release != release.Release{}:
		return s.release.Name()
	}
	return Builtin
}

// Release returns the release; false for dir:PATH, of which only the program itself knows.
func (s Source) Release() (release.Release, bool) {
	switch {
	case s.dir != "":
		return release.Release{}, false
	case s.release != release.Release{}:
		return s.release, true
	}
	return release.Default(), true
}
