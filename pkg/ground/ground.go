// Package ground is what the Kubernetes cluster of a sandbox stands on. Each package below it is one ground: embedded, kind,
// incluster and existing; package real has real vCenters in place of simulated ones.
//
// Floor 3: a ground imports what a sandbox is made of, and never package sandbox, which is a Host to it.
package ground

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Ground is what the Kubernetes cluster of a sandbox stands on.
type Ground interface {
	// Facts are the same from the beginning to the end.
	Facts() Facts
	// Steps puts the boot steps of a sandbox in order, with those of the ground among them.
	Steps(Steps) []Step
	// Light reports whether the Node of a VM is a light one.
	Light(*topology.VM) bool
	// Guest returns what stands for the guest of a VM that is a Node. The caller holds the lock of the nodes.
	Guest(Node) node.Guest
}

// Facts are what a sandbox does differently on a ground. The zero value is a cluster of its own in processes.
type Facts struct {
	// Cluster is one of the api.Cluster values, Nodes one of the api.Nodes values: the kind of those that are not light.
	Cluster, Nodes string
	// Pods: the cloud controller manager and the CSI driver run as pods.
	Pods bool
	// ReadOnly: the sandbox makes nothing in the cluster.
	ReadOnly bool
	// Namespace has what the cloud controller manager needs, and its roles have that name; "" for kube-system and their usual
	// names. Labels are those of all that is made for it.
	Namespace string
	Labels    map[string]string
	// Shared: the cluster was there before. Its Secrets are not read.
	Shared bool
	// LightInPods: light nodes run in pods that the ground has.
	LightInPods bool
	// Speed is the one at which the cluster runs; 0 for that of the sandbox.
	Speed pace.Speed
}

// Step is one line of the boot. Start returns when what it brings up can be used; its context ends with the sandbox's stop and
// bounds the start only. Stop may be nil. It is called in reverse order for every step that was begun, also when its start
// failed half-way, and gets a context that bounds it.
type Step struct {
	Name        string
	Start, Stop func(context.Context) error
	// Patient: Start gives up on its own; nothing else bounds it.
	Patient bool
}

// Steps are the boot steps that a sandbox has on any ground. One without a Start is left out of the boot.
type Steps struct {
	VCenters, Inventory, Faults, NodeWatch, CloudConfig, CCM, CSI, Nodes Step
	// Initialized waits for Nodes, Healthy for the cloud controller manager, Volumes until Nodes take volumes.
	Initialized, Healthy, Volumes Step
}

// None is the ground of a sandbox that has vCenters and no cluster.
type None struct{}

// Facts implements [Ground].
func (None) Facts() Facts { return Facts{Cluster: api.ClusterNone} }

// Steps implements [Ground].
func (None) Steps(s Steps) []Step { return []Step{s.VCenters, s.Inventory, s.Faults} }

// Light implements [Ground].
func (None) Light(*topology.VM) bool { return false }

// Guest implements [Ground]. No VM is a Node.
func (None) Guest(Node) node.Guest { return nil }

// Node is a VM that is a Node, for [Ground.Guest].
type Node interface {
	// VM is as it was when Guest was called; Current is as it is now, for any goroutine that does not hold the lock.
	VM() world.VM
	Current() world.VM
	// IsLight reports whether the topology or the ground has it be a light node.
	IsLight() bool
	// Claim gives the VM the name of a Node, unless another VM has that, and returns the name of the component. It is for Guest
	// alone.
	Claim(name string) (component string)
	// Kubelet is a kubelet in a process, LightGuest an entry of the fleet of light nodes; first, which may be nil, is called
	// before each of its boots.
	Kubelet() node.Guest
	LightGuest(first func() error) node.Guest
	// Notify records what became of the guest's process.
	Notify(child.Change)
}

// NodeSource is a ground whose cluster decides which VMs are Nodes. They are not the sandbox's: it does nothing to them.
type NodeSource interface {
	// SetNode and DeleteNode follow the Nodes of the cluster, and return the UUIDs of VMs that may have another Node now.
	SetNode(*corev1.Node) (uuids []string)
	DeleteNode(name string) (uuids []string)
	// NodeOf is the Node of the VM with that UUID; false when there is none.
	NodeOf(uuid string) (name string, role topology.Role, ok bool)
	// Refuse is the error for what would be done to a Node or its kubelet.
	Refuse(what string) error
	// Lacks returns why a kind of fault cannot be injected, "" when it can.
	Lacks(*fault.Kind) string
}

// Shared is a ground whose cluster has Nodes besides those of the sandbox.
type Shared interface {
	// Foreign reports whether a Node is not the sandbox's.
	Foreign(*corev1.Node) bool
	// NamesFree returns an error when a VM of the topology would be a Node whose name is taken.
	NamesFree(context.Context, *topology.Topology) error
}

// Names is a ground whose clients reach a vCenter by further names and addresses.
type Names interface {
	Names(vcenter string) []string
}

// Volumes is a ground where the guests of VMs see their disks.
type Volumes interface {
	// Guests show the disks of a vCenter's VMs to what runs in them; nil when they see none.
	Guests(vcenter string) cns.Guests
	// PodVolumes is how a CSI driver in a pod makes a volume of a disk.
	PodVolumes() PodVolumes
	// Path is where the files of a volume in use are.
	Path(api.Volume) (api.Path, error)
}

// PodVolumes are the fields of deploy.CSI that a ground decides.
type PodVolumes struct{ Backend, Dir, Serial string }

// Images returns what the image of a program is called in the cluster.
type Images interface{ Name(of string) string }

// Within bounds a call by a time limit.
func Within(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %s", limit))
	defer cancel()
	return do(ctx)
}

// LeftError is returned when something of a sandbox is left outside of its directory. The directory then stays: it has the
// note of what is left.
type LeftError struct{ Err error }

// Error is that of what could not be done.
func (e *LeftError) Error() string { return e.Err.Error() }

// Unwrap returns what could not be done.
func (e *LeftError) Unwrap() error { return e.Err }
