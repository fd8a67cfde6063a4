package contract

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

// Version is the version of the contract.
const Version = 6

// Commands of the Kubernetes program. The first prints [Info]. The next two take --config=FILE, and run until they are stopped.
// CheckCommand takes the file of [Knobs], and fails with a line for each that the components refuse. EtcdctlCommand and
// KubectlCommand take that program's arguments.
const (
	VersionCommand      = "version -o json"
	ControlPlaneCommand = "control-plane"
	NodeCommand         = "node"
	CheckCommand        = "check"
	EtcdctlCommand      = "etcdctl"
	KubectlCommand      = "kubectl"
)

// Info is the handshake: what a Kubernetes program is.
type Info struct {
	// Contract is the [Version] that the program was built with.
	Contract int `json:"contract"`
	// Kubernetes and Etcd are the releases that it is built from, such as v1.37.2.
	Kubernetes string `json:"kubernetes"`
	Etcd       string `json:"etcd"`
	// Go is the toolchain that built it, Platform is GOOS/GOARCH.
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// OtherVersionError says that a program or a file is of another contract.
type OtherVersionError struct {
	// What names the program or the file.
	What string
	// Contract is its version; 0 if it has none.
	Contract int
}

// Error names both versions.
func (e *OtherVersionError) Error() string {
	return fmt.Sprintf("%s: has version %d of the contract between vsphere-sandbox and its Kubernetes program, this program has version %d", e.What, e.Contract, Version)
}

// file is a configuration in a file.
type file[T any] struct {
	Contract int `json:"contract"`
	Config   T   `json:"config"`
}

// version is what is read of a file first.
type version struct {
	Contract int `json:"contract"`
}

// write stores a configuration, readable by its owner only.
func write[T any](path string, config T) error {
	return child.WriteConfig(path, file[T]{Version, config})
}

// read reads what write wrote. A file of another contract is an [OtherVersionError].
func read[T any](path string) (T, error) {
	v, err := child.ReadConfig[version](path)
	if err == nil && v.Contract != Version {
		err = &OtherVersionError{What: path, Contract: v.Contract}
	}
	if err != nil {
		return *new(T), err
	}
	f, err := child.ReadConfig[file[T]](path)
	return f.Config, err
}
