package feed

import (
	"reflect"
	"slices"
	"time"
)

// Mark is the label and taint (NoSchedule) of such Nodes in a cluster with other nodes: a pod that does not tolerate it
// would not really run there, but be reported as running.
const Mark = "sandbox.vsphere/light"

// State is the state of a machine's guest.
type State string

// The states. Only a guest that is running, and not cut off, sends heartbeats.
const (
	Running   State = "running"
	Stopped   State = "stopped" // off, or its guest or kubelet has not started
	Suspended State = "suspended"
	Hung      State = "hung" // although its VM runs
	Gone      State = "gone" // destroyed, or no node any more; the last state of a machine
)

// Machine is the state of one machine, with everything that its node reports.
type Machine struct {
	// ID is unique, unlike the name.
	ID string `json:"id"`
	// Name is the node's: the guest's hostname in lower case. It stays as long as the guest runs.
	Name  string `json:"name,omitempty"`
	State State  `json:"state"`
	// Cut is set if its network is cut off.
	Cut bool `json:"cut,omitempty"`
	// Boot is the boot time of the guest, Starts the number of restarts of its kubelet since.
	Boot   time.Time `json:"boot,omitzero"`
	Starts int       `json:"starts,omitempty"`
	// UUID is the BIOS UUID as the guest reads it.
	UUID        string `json:"uuid,omitempty"`
	CPUs        int    `json:"cpus,omitempty"`
	MemoryBytes uint64 `json:"memoryBytes,omitempty"`
	OSImage     string `json:"osImage,omitempty"`
	Kernel      string `json:"kernel,omitempty"`
	// Addresses are the guest's, the primary one first. The node sets them itself only if configured to.
	Addresses []string `json:"addresses,omitempty"`
	// ControlPlane gives the node the taint of kubeadm's control-plane nodes.
	ControlPlane bool `json:"controlPlane,omitempty"`
}

// Heard reports whether the cluster gets heartbeats of the machine.
func (m Machine) Heard() bool { return m.State == Running && !m.Cut }

// equal compares all fields.
func (m Machine) equal(o Machine) bool {
	same := slices.Equal(m.Addresses, o.Addresses) && m.Boot.Equal(o.Boot)
	m.Addresses, m.Boot = o.Addresses, o.Boot
	return same && reflect.DeepEqual(m, o)
}

// Line is one line of the stream. An empty one is a keep-alive.
type Line struct {
	Machine *Machine `json:"machine,omitempty"`
	// Synced marks that all machines were sent. It comes once in a stream.
	Synced bool `json:"synced,omitempty"`
}
