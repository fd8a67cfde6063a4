// Package build has the versions of what this program is made of. The Makefile stamps version and commit; the rest is read
// from what the Go linker records of the modules.
//
// Floor 0.
package build

import (
	"cmp"
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

// Clients is the Kubernetes release of the linked libraries: client-go and the cloud-node controllers.
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

// Component is third-party software that a program contains.
type Component struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Module is the Go module that it comes from; several components may come from one.
	Module string `json:"module"`
	// Program is the program that links it: vsphere-sandbox, or one that a release carries inside.
	Program string `json:"program"`
}

// part is a component, before its version is known.
type part struct{ name, module string }

// parts are what people ask about: what speaks, decides or is run under its own name. Libraries below these are in the
// bill of materials of a release.
func parts() []part {
	return []part{
		{"cloud-provider", "k8s.io/cloud-provider"},
		{"client-go", "k8s.io/client-go"},
		{"govmomi", "github.com/vmware/govmomi"},
		{"vcsim", "github.com/vmware/govmomi"},
		{"govc", "github.com/vmware/govmomi"},
		{"kind", "sigs.k8s.io/kind"},
		{"kwok", "sigs.k8s.io/kwok"},
		{"csi-spec", "github.com/container-storage-interface/spec"},
		{"grpc", "google.golang.org/grpc"},
		{"go-containerregistry", "github.com/google/go-containerregistry"},
		{"bubbletea", "charm.land/bubbletea/v2"},
		{"bubbles", "charm.land/bubbles/v2"},
		{"lipgloss", "charm.land/lipgloss/v2"},
		{"cobra", "github.com/spf13/cobra"},
	}
}

// sidecarParts are those of the program csi-sidecars.
func sidecarParts() []part {
	return []part{
		{"csi-provisioner", "github.com/kubernetes-csi/external-provisioner/v6"},
		{"csi-attacher", "github.com/kubernetes-csi/external-attacher/v4"},
		{"csi-resizer", "github.com/kubernetes-csi/external-resizer/v2"},
		{"csi-snapshotter", "github.com/kubernetes-csi/external-snapshotter/v8"},
		{"snapshot-controller", "github.com/kubernetes-csi/external-snapshotter/v8"},
		{"csi-lib-utils", "github.com/kubernetes-csi/csi-lib-utils"},
		{"client-go", "k8s.io/client-go"},
		{"csi-spec", "github.com/container-storage-interface/spec"},
		{"grpc", "google.golang.org/grpc"},
	}
}

// KubernetesComponents are those of the default Kubernetes program.
func KubernetesComponents() []Component {
	const program = "vsphere-sandbox-kubernetes"
	return []Component{
		{Name: "kubernetes", Version: Kubernetes(), Module: "k8s.io/kubernetes", Program: program}, // API server, controller manager, scheduler, kubelet
		{Name: "etcd", Version: Etcd(), Module: "go.etcd.io/etcd/server/v3", Program: program},
		{Name: "kubectl", Version: release.Default().Staging(), Module: "k8s.io/kubectl", Program: program},
	}
}

// Components are those of this program, with "unknown" for what is not linked.
func Components() []Component {
	list := make([]Component, 0, len(parts()))
	for _, p := range parts() {
		list = append(list, Component{Name: p.name, Version: module(p.module), Module: p.module, Program: "vsphere-sandbox"})
	}
	return list
}

// SidecarComponents are those of a program csi-sidecars, of what the linker has recorded in it; with nil every version is
// "unknown".
func SidecarComponents(info *debug.BuildInfo) []Component {
	linked := versions(info)
	list := make([]Component, 0, len(sidecarParts()))
	for _, p := range sidecarParts() {
		v := linked[p.module]
		v = cmp.Or(v, unknown)
		list = append(list, Component{Name: p.name, Version: v, Module: p.module, Program: "csi-sidecars"})
	}
	return list
}
