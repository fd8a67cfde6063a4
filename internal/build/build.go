// Package build says what this binary is made of. The Makefile stamps version and commit; the rest is read from what
// the Go linker records of the modules.
//
// Floor 0.
package build

import (
	"runtime/debug"
	"strings"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
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

// Kubernetes is the default release of the Kubernetes program, "v1.37.2".
func Kubernetes() string { return release.Default().Version }

// Govmomi is the release of the vSphere SDK and simulator.
func Govmomi() string { return module("github.com/vmware/govmomi") }

// Clients is the Kubernetes release of the linked libraries: kubectl, client-go and the cloud-node controllers.
func Clients() string {
	v := module("k8s.io/cloud-provider")
	if rest, ok := strings.CutPrefix(v, "v0."); ok {
		return "v1." + rest
	}
	return v
}

// Etcd is the release of the etcd server in that program.
func Etcd() string { return release.Default().Etcd }

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
