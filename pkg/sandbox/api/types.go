package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Phase is where a sandbox is in its life.
type Phase string

// The phases, in order.
const (
	Booting  Phase = "booting"
	Ready    Phase = "ready"    // every boot step done; says nothing of what was broken on purpose since
	Stopping Phase = "stopping" // children are being ended
)

// Status is the sandbox as a whole.
type Status struct {
	Name  string `json:"name"`
	Phase Phase  `json:"phase"`
	// Step is what booting or stopping is at, "" when ready.
	Step string `json:"step,omitempty"`
	PID  int    `json:"pid"`
	// Topology is the name of the topology.
	Topology  string     `json:"topology"`
	Speed     float64    `json:"speed"`
	StartedAt time.Time  `json:"startedAt"`
	ReadyAt   *time.Time `json:"readyAt,omitempty"`
	Dir       string     `json:"dir"`
	// Server is the API server's URL.
	Server string `json:"server"`
	// ControllerManager and Scheduler are the URLs of the components' secure ports on an embedded cluster: metrics and health.
	ControllerManager string `json:"controllerManager,omitempty"`
	Scheduler         string `json:"scheduler,omitempty"`
	Kubeconfig        string `json:"kubeconfig"`
	Context           string `json:"context"`

	Version           string `json:"version"`
	KubernetesVersion string `json:"kubernetesVersion"`
	// KubernetesProgram is the path of the program that the embedded cluster consists of; "" for any other cluster.
	KubernetesProgram string `json:"kubernetesProgram,omitempty"`

	Ground     Ground      `json:"ground"`
	Components []Component `json:"components"`
	VCenters   []VCenter   `json:"vcenters"`
	Nodes      NodeCount   `json:"nodes"`

	// LastEvent is the Seq of the newest event: where to follow from.
	LastEvent uint64 `json:"lastEvent"`
}

// NodeCount counts the nodes that the topology wants, and what became of them.
type NodeCount struct {
	Wanted      int `json:"wanted"`
	Registered  int `json:"registered"`
	Initialized int `json:"initialized"`
	Ready       int `json:"ready"`
}

// Component is a supervised part of the sandbox.
type Component struct {
	Name string `json:"name"`
	// State is running, suspended, hung, backing-off or stopped.
	State    string    `json:"state"`
	PID      int       `json:"pid,omitempty"`
	Restarts int       `json:"restarts"`
	Since    time.Time `json:"since,omitzero"`
	// Message is why it is not running, if it is not.
	Message string `json:"message,omitempty"`
	Log     string `json:"log,omitempty"`
	// Source, Version and Digest say what program a cloud controller manager or a CSI driver is.
	Source  string `json:"source,omitempty"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Health is healthy, or why a cloud controller manager or a CSI driver is not; "" for other components.
	Health string `json:"health,omitempty"`
	// FailedBuild says that the newest build of a watched program did not start, why, and that an older one runs.
	FailedBuild string `json:"failedBuild,omitempty"`
	// Leader: of several cloud controller managers it is the one that works.
	Leader bool `json:"leader,omitempty"`
}

// IsCCM reports whether the component is a cloud controller manager.
func (c Component) IsCCM() bool {
	return c.Source != "" && (c.Name == "ccm" || strings.HasPrefix(c.Name, "ccm-"))
}

// VCenter is one vCenter.
type VCenter struct {
	Name string `json:"name"`
	// Real is read-only or writable for a real vCenter, "" for a simulated one.
	Real string `json:"real,omitempty"`
	URL  string `json:"url"`
	// ContainerURL is as in [Access].
	ContainerURL string `json:"containerURL,omitempty"`
	User         string `json:"user"`
	InstanceUUID string `json:"instanceUUID"`
	Version      string `json:"version"`
	// Gate is what clients get of it: up, down, slow or hung.
	Gate string `json:"gate"`
	// Delay is what a slow gate adds to each call.
	Delay Duration `json:"delay,omitzero"`
	// Watched reports whether the sandbox's own view of its inventory is current.
	Watched     bool   `json:"watched"`
	Datacenters int    `json:"datacenters"`
	Hosts       int    `json:"hosts"`
	VMs         int    `json:"vms"`
	Calls       uint64 `json:"calls"`
}

// Datacenter is a vSphere datacenter.
type Datacenter struct {
	Name    string `json:"name"`
	VCenter string `json:"vcenter"`
	Path    string `json:"path"`
	Region  string `json:"region,omitempty"`
	Zone    string `json:"zone,omitempty"`
	Hosts   int    `json:"hosts"`
	VMs     int    `json:"vms"`
	Nodes   int    `json:"nodes"`
}

// Host is an ESXi host.
type Host struct {
	Name       string `json:"name"`
	VCenter    string `json:"vcenter"`
	Datacenter string `json:"datacenter"`
	// Cluster is its compute cluster; "" for a standalone host.
	Cluster     string `json:"cluster,omitempty"`
	Connection  string `json:"connection"`
	Power       string `json:"power"`
	CPUs        int    `json:"cpus"`
	MemoryBytes int64  `json:"memoryBytes"`
	VMs         int    `json:"vms"`
}

// VM is a virtual machine, as its vCenter reports it now.
type VM struct {
	Name       string `json:"name"`
	VCenter    string `json:"vcenter"`
	Datacenter string `json:"datacenter"`
	Cluster    string `json:"cluster,omitempty"`
	Host       string `json:"host"`
	Path       string `json:"path"`
	MoRef      string `json:"moref"`
	UUID       string `json:"uuid"`
	// Power is on, off or suspended.
	Power      string `json:"power"`
	Connection string `json:"connection"`
	// Tools reports whether the guest's tools run.
	Tools       bool     `json:"tools"`
	Hostname    string   `json:"hostname,omitempty"`
	Addresses   []string `json:"addresses,omitempty"`
	CPUs        int      `json:"cpus"`
	MemoryBytes int64    `json:"memoryBytes"`
	GuestID     string   `json:"guestID"`
	// Region and Zone are by nearest tag.
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
	// Role is control-plane or worker; "" for a VM that is no node.
	Role string `json:"role,omitempty"`
	// Disks are its virtual disks, by their place.
	Disks []Disk `json:"disks,omitempty"`
	// Process is the state of the kubelet that stands for the guest: running, suspended, hung, backing-off, stopped.
	Process string `json:"process,omitempty"`
}

// Disk is a virtual disk of a VM.
type Disk struct {
	// UUID is that of its backing, which the guest sees in its serial number.
	UUID string `json:"uuid,omitempty"`
	// Volume is the id of the first class disk that it is, "" for a disk that belongs to its VM.
	Volume string `json:"volume,omitempty"`
	Bytes  int64  `json:"bytes"`
	// File is its descriptor: "[datastore] path".
	File string `json:"file,omitempty"`
	// Controller is the SCSI bus number, Unit the place on it.
	Controller int `json:"controller"`
	Unit       int `json:"unit"`
}

// Node is a Kubernetes node joined with its VM. A VM that should be a node and is none yet has a row with Registered
// false; a node without a VM has an empty VM.
type Node struct {
	Name       string `json:"name"`
	VM         string `json:"vm,omitempty"`
	VCenter    string `json:"vcenter,omitempty"`
	Datacenter string `json:"datacenter,omitempty"`
	Power      string `json:"power,omitempty"`
	Registered bool   `json:"registered"`
	// Ready is the Ready condition's status: True, False or Unknown.
	Ready string `json:"ready,omitempty"`
	// Initialized: the cloud controller manager has taken the uninitialized taint away.
	Initialized  bool      `json:"initialized"`
	Taints       []string  `json:"taints,omitempty"` // key[=value]:effect
	Region       string    `json:"region,omitempty"`
	Zone         string    `json:"zone,omitempty"`
	ProviderID   string    `json:"providerID,omitempty"`
	InstanceType string    `json:"instanceType,omitempty"`
	Addresses    []string  `json:"addresses,omitempty"` // InternalIP, ExternalIP; without duplicates
	Roles        []string  `json:"roles,omitempty"`
	Version      string    `json:"version,omitempty"`
	Created      time.Time `json:"created,omitzero"`
	// Labels are all labels of the Node object. They are not to be changed.
	Labels map[string]string `json:"labels,omitempty"`
	// Pods counts the pods on it that have not ended.
	Pods int `json:"pods,omitempty"`
	// Unschedulable: it is cordoned.
	Unschedulable bool `json:"unschedulable,omitempty"`
}

// Zone is a failure domain: a region and zone pair, with what is in it.
type Zone struct {
	Region      string   `json:"region"`
	Zone        string   `json:"zone"`
	Datacenters []string `json:"datacenters"` // vcenter/datacenter
	VMs         int      `json:"vms"`
	Nodes       int      `json:"nodes"`
	ReadyNodes  int      `json:"readyNodes"`
}

// VMAction is what can be done to a VM.
type VMAction string

// The actions. All but hang are vSphere operations that the sandbox asks the VM's vCenter for; hang stops the guest
// where the vCenter does not see it.
const (
	PowerOn  VMAction = "power-on"
	PowerOff VMAction = "power-off"
	Suspend  VMAction = "suspend"
	Reset    VMAction = "reset"
	Hang     VMAction = "hang"
	Move     VMAction = "move"
	Destroy  VMAction = "destroy"
)

// VMRequest asks for an action on one VM.
type VMRequest struct {
	Action VMAction `json:"action"`
	// VM is its name, or its hostname, or vcenter/name, or an inventory path.
	VM      string `json:"vm"`
	VCenter string `json:"vcenter,omitempty"`
	// Host is where to move it.
	Host string `json:"host,omitempty"`
	// Confirmed: a person knows that the VM is a real vCenter's, and wants it. Without it the answer for such a VM is
	// unconfirmed, with what would be done.
	Confirmed bool `json:"confirmed,omitempty"`
}

// GateRequest sets what clients get of one vCenter.
type GateRequest struct {
	VCenter string `json:"vcenter"`
	// Mode is up, down, slow or hung.
	Mode  string   `json:"mode"`
	Delay Duration `json:"delay,omitzero"`
}

// Done is the answer to a request that changed something.
type Done struct {
	Message string `json:"message"`
	// Seq is the event that the request made.
	Seq uint64 `json:"seq,omitempty"`
}

// Access is how to reach one vCenter as its administrator. It holds a secret: it is given only on the owner's socket.
type Access struct {
	VCenter  string `json:"vcenter"`
	URL      string `json:"url"`
	User     string `json:"user"`
	Password string `json:"password"`
	// CAFile is the path of the certificate that verifies it.
	CAFile string `json:"caFile"`
	// ContainerURL is where containers of a network reach it, if "vcenter up" was asked to let them.
	ContainerURL string `json:"containerURL,omitempty"`
}

// Error is what the sandbox answers when it can't do what was asked.
type Error struct {
	// Code is a stable kebab-case id: not-found, ambiguous, conflict, unavailable, invalid,
	// unchangeable, unsupported, refused, unconfirmed, internal.
	Code    string `json:"code"`
	Message string `json:"message"`
	// Try is what to do about it.
	Try string `json:"try,omitempty"`
	// Seed is what an unconfirmed fault has drawn: a repeat with it has the same targets.
	Seed uint64 `json:"seed,omitempty"`
}

// Unconfirmed returns the answer to a request that must be repeated with Confirmed after the user has read and accepted it; nil for
// every other error.
func Unconfirmed(err error) *Error {
	var e *Error
	if errors.As(err, &e) && e.Code == "unconfirmed" {
		return e
	}
	return nil
}

func (e *Error) Error() string { return e.Message }

// Conflict returns the error of a request that the state of its object does not allow.
func Conflict(format string, args ...any) *Error {
	return &Error{Code: "conflict", Message: fmt.Sprintf(format, args...)}
}

// NotBuilt returns the error of a request that comes before there are vCenters.
func NotBuilt() *Error {
	return &Error{Code: "unavailable", Message: "the sandbox has not built its vCenters yet", Try: "vsphere-sandbox wait --for=ready"}
}

// Duration is a time.Duration that travels as text ("250ms").
type Duration time.Duration

// MarshalJSON writes the duration as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	*d = Duration(v)
	return err
}
