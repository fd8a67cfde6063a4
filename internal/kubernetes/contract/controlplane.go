package contract

import (
	"errors"
	"io/fs"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

// ControlPlane is the configuration of [ControlPlaneCommand]. It has paths and no secrets.
type ControlPlane struct {
	// EtcdDir is etcd's data directory; a control plane with an existing one continues.
	EtcdDir string `json:"etcdDir"`
	// Objects is a file with the objects that a new cluster begins with, package objects's; empty for none.
	Objects string `json:"objects,omitempty"`
	// PKI is the directory of keys, certificates and kubeconfigs.
	PKI string `json:"pki"`
	// Host and Port are the clients' address. The listening socket is inherited as file descriptor ListenerFD, so that
	// the address stays in use while the control plane restarts.
	Host       string     `json:"host"`
	Port       int        `json:"port"`
	ListenerFD int        `json:"listenerFD"`
	Speed      pace.Speed `json:"speed"`
	// ServiceCIDR and PodCIDR are address ranges that are not routed.
	ServiceCIDR string `json:"serviceCIDR"`
	PodCIDR     string `json:"podCIDR"`
	// Tuning is the file with what may change while the control plane runs; see [Tuning]. A byte on the pipe NotifyFD
	// announces that it was written.
	Tuning   string `json:"tuning"`
	NotifyFD int    `json:"notifyFD"`
	// AuditLog is the file of the API server's audit log; empty for none.
	AuditLog string `json:"auditLog,omitempty"`
	// ControllerManagerFD and SchedulerFD are the inherited listening sockets of the components' secure ports, which serve
	// metrics and health with the API server's certificate.
	ControllerManagerFD int `json:"controllerManagerFD"`
	SchedulerFD         int `json:"schedulerFD"`
	// EtcdEndpoint is the file that etcd's URL is written to.
	EtcdEndpoint string `json:"etcdEndpoint"`
	// Egress is the unix socket of the HTTP CONNECT proxy to the cluster's network: nodes by their names. Empty means that there
	// is no such network.
	Egress string `json:"egress,omitempty"`
	// Metrics is the unix socket that the resource metrics API is served on; empty for none. It needs Egress: the proxy has it behind
	// [MetricsHost].
	Metrics string `json:"metrics,omitempty"`
	// Supervisor is a second API server; nil for none.
	Supervisor *SupervisorAPI `json:"supervisor,omitempty"`
	// Knobs are the user's.
	Knobs Knobs `json:"knobs,omitzero"`
}

// SupervisorAPI is the API server of a Supervisor: RBAC, tokens, resource definitions and what they need. Its objects are under a separate
// prefix in the same etcd. Nothing but this server acts on them.
type SupervisorAPI struct {
	// PKI has apiserver.crt, apiserver.key, sa.key and sa.pub, and tokens.csv: the static tokens of the administrators.
	PKI string `json:"pki"`
	// Host and Port are the address of the socket that is inherited as ListenerFD.
	Host       string `json:"host"`
	Port       int    `json:"port"`
	ListenerFD int    `json:"listenerFD"`
}

// EtcdRestore is the key of the gRPC metadata of a request to etcd that restores a snapshot: such a request has no limit of size and
// operations.
const EtcdRestore = "vsphere-sandbox-restore"

// MetricsHost is the name that the proxy [ControlPlane].Egress has for the server of the resource metrics API.
const MetricsHost = "metrics-server.sandbox.internal"

// KubeletPort is the port that a Node names for its kubelet's server.
const KubeletPort = 10250

// ReadControlPlane reads the file that [ControlPlane.Write] wrote. One of another contract is an [OtherVersionError].
func ReadControlPlane(path string) (ControlPlane, error) { return read[ControlPlane](path) }

// Write stores the configuration, readable by its owner only.
func (c ControlPlane) Write(path string) error { return write(path, c) }

// Tuning has the settings of a control plane that may change while it runs. It is passed as a file, [ControlPlane].Tuning,
// which the control plane follows. The file outlives it, so the settings also apply after a restart or a pause. The zero
// value changes nothing.
type Tuning struct {
	// EtcdDelay is the delay of etcd's responses to the API server.
	EtcdDelay time.Duration `json:"etcdDelay,omitempty"`
}

// ReadTuning reads the file; a missing one is the zero value.
func ReadTuning(path string) (Tuning, error) {
	t, err := read[Tuning](path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	return t, err
}

// Write stores the settings, readable by their owner only.
func (t Tuning) Write(path string) error { return write(path, t) }
