package fault

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// Object is a kind of target.
type Object string

// The kinds of targets. Sandbox is the whole sandbox, for faults without another target.
const (
	VM         Object = "VM"
	Host       Object = "Host"
	Cluster    Object = "Cluster" // a compute cluster
	Datacenter Object = "Datacenter"
	Datastore  Object = "Datastore"
	Volume     Object = "Volume" // one that CNS knows
	Zone       Object = "Zone"
	VCenter    Object = "VCenter"
	Node       Object = "Node"
	Component  Object = "Component"
	Sandbox    Object = "Sandbox"
)

// Item is an object that a fault can target. Fields that do not apply are empty.
type Item struct {
	Kind Object `json:"kind"`
	// VCenter is its vCenter; empty for objects of no vCenter or of several.
	VCenter string `json:"vcenter,omitempty"`
	Name    string `json:"name"`
	// Path is the inventory path, Ref the reference: for objects of a vCenter only.
	Path string                       `json:"path,omitempty"`
	Ref  types.ManagedObjectReference `json:"ref,omitzero"`

	// Datacenter, Cluster and Host are the names of what contains or runs it.
	Datacenter string `json:"datacenter,omitempty"`
	Cluster    string `json:"cluster,omitempty"`
	Host       string `json:"host,omitempty"`
	// Region and Zone are the values of its nearest tags.
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
	// ID is the ID of a volume, Claim its claim ("default/data"), if any.
	ID    string `json:"id,omitempty"`
	Claim string `json:"claim,omitempty"`
	// Node is the name of the VM's node, Role its role: control-plane or worker.
	Node string `json:"node,omitempty"`
	Role string `json:"role,omitempty"`
}

// Event returns the item as an object of events.
func (i Item) Event() event.Object {
	return event.Object{Kind: string(i.Kind), VCenter: i.VCenter, Name: i.Name}
}

// String returns the item's display name: us/worker-1.
func (i Item) String() string {
	if i.VCenter == "" || i.VCenter == i.Name {
		return i.Name
	}
	return i.VCenter + "/" + i.Name
}
