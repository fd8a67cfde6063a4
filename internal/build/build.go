// Package build says what this binary is made of. The Makefile stamps version and commit; the rest is read from what
// the Go linker records of the modules.
//
// Floor 0.
package build

import (
	"runtime/debug"
	"sync"
)

// Stamped by the Makefile with -ldflags -X; read through the functions below.
var (
	version = "v0.0.0-dev"
	commit  = "" // the linker writes it, as it does version
)

// Version is our own release.
func Version() string { return version }

// Commit is the commit that was built, "" when the build was not stamped.
func Commit() string { return commit }

// Kubernetes is the release that is linked in, "v1.36.4".
func Kubernetes() string { return module("k8s.io/kubernetes") }

// Govmomi is the release of the vSphere SDK and simulator.
func Govmomi() string { return module("github.com/vmware/govmomi") }

// Etcd is the release of the embedded etcd server.
func Etcd() string { return module("go.etcd.io/etcd/server/v3") }

// unknown is the version of what is not linked.
const unknown = "unknown"

var modules = sync.OnceValue(func() map[string]string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	return versions(info)
})

// versions are those of the modules that are linked: of what stands in a module's place, where go.mod replaces it. None
// when nothing is known.
func versions(info *debug.BuildInfo) map[string]string {
	m := map[string]string{}
	if info == nil {
		return m
	}
	for _, dep := range info.Deps {
		m[dep.Path] = dep.Version
		if dep.Replace != nil {
			m[dep.Path] = dep.Replace.Version
		}
	}
	return m
}

// module returns the version of a linked module, "unknown" when it is not linked (as in most test binaries).
func module(path string) string {
	if v := modules()[path]; v != "" {
		return v
	}
	return unknown
}
