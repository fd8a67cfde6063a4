// Package ground is what the Kubernetes cluster of a sandbox stands on. Each package below it is one ground: embedded, kind,
// incluster and existing. Every ground takes simulated or real vCenters.
//
// What only some grounds can do is an optional interface: the sandbox finds it by a type assertion, and never asks which ground
// it has.
//
// Floor 3: a ground imports the parts of a sandbox, and never package sandbox, which is its Host.
package ground

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

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
	// Facts are constant.
	Facts() Facts
	// Steps returns the boot steps of a sandbox in order, including those of the ground.
	Steps(Steps) []Step
	// Light reports whether the Node of a VM is a light one.
	Light(*topology.VM) bool
	// Nodes returns the kind of Nodes that a topology has: one of the api.Nodes values.
	Nodes(*topology.Topology) string
	// Guest returns the guest of a VM that is a Node. The caller holds the lock of the nodes.
	Guest(Node) node.Guest
}

// Facts are values in which grounds differ.
type Facts struct {
	// Cluster is one of the api.Cluster values, for the status.
	Cluster string
	// Namespace has what the cloud controller manager needs, and its roles have that name; "" for kube-system and their usual
	// names. Labels are those of all that is created for it.
	Namespace string
	Labels    map[string]string
	// Speed is that of the cluster; 0 for that of the sandbox.
	Speed pace.Speed
}

// KindOfNodes implements [Ground].Nodes for a ground that has light Nodes, as light reports, and others.
func KindOfNodes(t *topology.Topology, light func(*topology.VM) bool, others string) (kind string) {
	for _, r := range t.Nodes() {
		is := others
		if light(r.VM) {
			is = api.NodesLight
		}
		if kind != "" && kind != is {
			return api.NodesMixed
		}
		kind = is
	}
	return kind
}

// Step is one line of the boot. Start returns when what it brings up can be used; its context ends with the sandbox's stop and
// bounds the start only. Stop may be nil. It is called in reverse order for every step that was begun, also when its start
// failed half-way, and gets a context that bounds it.
type Step struct {
	Name        string
	Start, Stop func(context.Context) error
	// NoTimeout: Start gives up on its own; nothing else bounds it.
	NoTimeout bool
}

// Steps are the boot steps that a sandbox has on any ground. One without a Start is left out of the boot.
type Steps struct {
	VCenters, Inventory, Faults, NodeWatch, CloudConfig, CCM, CSI, Nodes Step
	// NSX is the NSX Manager, on grounds whose cloud controller manager is a process of this machine, or is [NSXNames].
	NSX Step
	// Supervisor begins that of a guest cluster, on the ground whose control plane serves its API. Guest waits for it.
	Supervisor, Guest Step
	// LoadBalancer serves Services of type LoadBalancer, on grounds whose cluster was made for the sandbox.
	LoadBalancer Step
	// Initialized waits for Nodes, Healthy for the cloud controller manager, Volumes until Nodes take volumes.
	Initialized, Healthy, Volumes Step
}

// ObjectSaver is an optional ability of a ground: the objects of its API server can be saved, and restored in one step.
type ObjectSaver interface {
	// SaveObjects writes all objects, as they are at one revision, and returns how many there are.
	SaveObjects(ctx context.Context, w io.Writer) (n int, err error)
	// RestoreObjects makes the objects those that SaveObjects wrote. After an error nothing has changed.
	RestoreObjects(ctx context.Context, r io.Reader) error
	// Unfrozen are the components that must run while objects are saved.
	Unfrozen() []string
}

// Supervised is an optional ability of a ground: its cluster is a guest cluster of a Supervisor.
type Supervised interface{ Supervised() bool }

// None is the ground of a sandbox that has vCenters and no cluster. It implements [NodeSource] and [Guarded].
type None struct{}

// Facts implements [Ground].
func (None) Facts() Facts { return Facts{Cluster: api.ClusterNone} }

// Steps implements [Ground].
func (None) Steps(s Steps) []Step { return []Step{s.VCenters, s.NSX, s.Inventory, s.Faults} }

// Light implements [Ground].
func (None) Light(*topology.VM) bool { return false }

// Nodes implements [Ground].
func (None) Nodes(*topology.Topology) string { return "" }

// Guest implements [Ground]. No VM is a Node.
func (None) Guest(Node) node.Guest { return nil }

// SetNode implements [NodeSource].
func (None) SetNode(*corev1.Node) []string { return nil }

// DeleteNode implements [NodeSource].
func (None) DeleteNode(string) []string { return nil }

// NodeOf implements [NodeSource].
func (None) NodeOf(string) (string, topology.Role, bool) { return "", "", false }

// Refuse implements [NodeSource].
func (None) Refuse(what string) error {
	return api.Conflict("%s only where there are nodes: this sandbox has vCenters alone", what)
}

// Lacks implements [NodeSource].
func (None) Lacks(k *fault.Kind) (why, try string) {
	for _, n := range k.Needs {
		if n == fault.Kubelets || n == fault.Children || n == fault.Clustered || n == fault.Supervised {
			return "takes " + n.String() + ", which there is not here", ""
		}
	}
	return "", ""
}

// Guard implements [Guarded].
func (None) Guard() error {
	return api.Conflict("this sandbox has vCenters alone, and no cloud controller manager")
}

// Node is a VM that is a Node, for [Ground.Guest].
type Node interface {
	// VM is the VM when Guest was called; Current is its present state, for a goroutine that does not hold the lock.
	VM() world.VM
	Current() world.VM
	// IsLight reports whether the Node is a light one.
	IsLight() bool
	// Claim gives the VM the name of a Node, unless another VM has that, and returns the name of the component. It is for
	// Guest. Boot does the same at a boot of the guest, and returns the role: the caller must not hold the lock.
	Claim(name string) (component string)
	Boot(name string) (component string, role topology.Role)
	// Dir is the directory of the guest, Proxy the name of its proxy to the API server. Both last as long as the VM.
	Dir() string
	Proxy() string
	// LightGuest returns a guest of the fleet of light nodes.
	LightGuest(LightOptions) node.Guest
	// Notify records a change of the guest's process.
	Notify(child.Change)
}

// LightOptions say how a light node runs. The zero value is one of the program that the sandbox starts.
type LightOptions struct {
	// First is called before each boot; an error prevents it. It may be nil.
	First func() error
	// Args are further arguments of the program.
	Args []string
	// InPods: the ground runs the program in pods.
	InPods bool
}

// NodeName returns the name of the Node of a VM at a boot: its hostname.
func NodeName(vm string, m node.VM) (string, error) {
	name := strings.ToLower(m.Hostname)
	if bad := validation.IsDNS1123Subdomain(name); len(bad) > 0 {
		return "", fmt.Errorf("hostname %q of vm %q: no name for a node: %s", m.Hostname, vm, bad[0])
	}
	return name, nil
}

// NodeSource is a ground whose cluster decides which VMs are Nodes. The Nodes belong to others: the sandbox only watches them.
type NodeSource interface {
	// SetNode and DeleteNode follow the Nodes of the cluster, and return the UUIDs of VMs that may have another Node now.
	SetNode(*corev1.Node) (uuids []string)
	DeleteNode(name string) (uuids []string)
	// NodeOf returns the Node of the VM with that UUID, and whether it exists.
	NodeOf(uuid string) (name string, role topology.Role, ok bool)
	// Refuse returns the error for a change of a Node or its kubelet.
	Refuse(what string) error
	// Lacks returns why a kind of fault cannot be injected, "" when it can, and a command to try.
	Lacks(*fault.Kind) (why, try string)
}

// Guarded is a ground that may forbid the sandbox to change the cluster.
type Guarded interface {
	// Guard returns the error of a request that starts a cloud controller manager or changes objects; nil when both are allowed.
	Guard() error
}

// Deployer is a ground where the CSI driver runs as pods.
type Deployer interface {
	// DeploysCCM reports whether the cloud controller manager runs as pods, too: a program may have no image.
	DeploysCCM() bool
}

// Shared is a ground whose cluster existed before: its Secrets are not read.
type Shared interface {
	// Foreign reports whether the sandbox ignores a Node.
	Foreign(*corev1.Node) bool
	// NamesFree returns an error when a VM of the topology would be a Node with a name that is taken.
	NamesFree(context.Context, *topology.Topology) error
}

// ControlPlane is a ground whose control plane is a process of the sandbox, as are all other components.
type ControlPlane interface {
	// SlowEtcd delays every request of the API server to etcd; 0 ends that.
	SlowEtcd(time.Duration) error
}

// NodePorts is a ground whose Nodes serve the ports of Services at addresses that this machine reaches.
type NodePorts interface {
	ServesNodePorts() bool
}

// Names is a ground whose clients reach a vCenter by further names and addresses.
type Names interface {
	Names(vcenter string) []string
}

// NSXNames is a ground whose pods reach the NSX Manager, by further names and addresses.
type NSXNames interface {
	NSXNames() []string
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

// WithTimeout bounds a call by a time limit.
func WithTimeout(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
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
