package fault

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// Object is a kind of thing that faults happen to.
type Object string

// The kinds of targets. Sandbox is the whole of it, for faults that have no other target.
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

// Item is something there is, as far as choosing it goes. What does not apply is empty.
type Item struct {
	Kind Object `json:"kind"`
	// VCenter is where it is; empty for what is in none or in several.
	VCenter string `json:"vcenter,omitempty"`
	Name    string `json:"name"`
	// Path is its inventory path, Ref its reference: things of a vCenter only.
	Path string                       `json:"path,omitempty"`
	Ref  types.ManagedObjectReference `json:"ref,omitzero"`

	// Datacenter, Cluster and Host are the names of those that it is in or on.
	Datacenter string `json:"datacenter,omitempty"`
	Cluster    string `json:"cluster,omitempty"`
	Host       string `json:"host,omitempty"`
	// Region and Zone are those of its nearest tags.
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
	// ID is a volume's, Claim the claim that it is for ("default/data"), if there is one.
	ID    string `json:"id,omitempty"`
	Claim string `json:"claim,omitempty"`
	// Node is the name of the VM's node, Role its role: control-plane or worker.
	Node string `json:"node,omitempty"`
	Role string `json:"role,omitempty"`
}

// Event is how the item is named in events.
func (i Item) Event() event.Object {
	return event.Object{Kind: string(i.Kind), VCenter: i.VCenter, Name: i.Name}
}

// String is how people name it: us/worker-1.
func (i Item) String() string {
	if i.VCenter == "" || i.VCenter == i.Name {
		return i.Name
	}
	return i.VCenter + "/" + i.Name
}
