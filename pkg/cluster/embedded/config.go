package embedded

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

// Config is what the parent tells the control-plane child. It travels as a file; it holds paths and no secrets.
type Config struct {
	// EtcdDir is where etcd keeps its data; a control plane started again with the same one continues.
	EtcdDir string `json:"etcdDir"`
	// PKI is the directory of keys, certificates and kubeconfigs.
	PKI string `json:"pki"`
	// Host and Port are what clients connect to. The listening socket itself is inherited as file descriptor
	// ListenerFD, so that the address stays taken while the control plane restarts.
	Host       string     `json:"host"`
	Port       int        `json:"port"`
	ListenerFD int        `json:"listenerFD"`
	Speed      pace.Speed `json:"speed"`
	// ServiceCIDR and PodCIDR are address ranges that nothing routes.
	ServiceCIDR string `json:"serviceCIDR"`
	PodCIDR     string `json:"podCIDR"`
	// Tuning is the file with what may change while the control plane runs; see [Tuning]. A byte on the pipe BellFD says
	// that it was written anew.
	Tuning string `json:"tuning"`
	BellFD int    `json:"bellFD"`
	// AuditLog is the file of the API server's audit log; empty means none is kept.
	AuditLog string `json:"auditLog,omitempty"`
}

// ReadConfig reads the file that the parent wrote.
func ReadConfig(path string) (Config, error) { return child.ReadConfig[Config](path) }
