package main

import (
	"runtime"
	"runtime/debug"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

// info returns the handshake. The versions are those that the linker recorded: a stamp could differ from what is linked.
func info() contract.Info {
	i := contract.Info{Contract: contract.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	built, ok := debug.ReadBuildInfo()
	if !ok {
		return i
	}
	for _, m := range built.Deps {
		version := m.Version
		if m.Replace != nil {
			version = m.Replace.Version
		}
		switch m.Path {
		case "k8s.io/kubernetes":
			i.Kubernetes = version
		case "go.etcd.io/etcd/server/v3":
			i.Etcd = version
		}
	}
	return i
}
