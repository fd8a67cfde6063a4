package feed

import "time"

// Mark labels and taints (NoSchedule) the Nodes of such machines in a cluster whose other nodes run pods: one that does not
// tolerate it would run nowhere there, and yet be said to run.
const Mark = "sandbox.vsphere/light"

// State is what a machine's guest does.
type State string

// The states. Only a guest that is running, and not cut off, is heard of.
const (
	Running   State = "running"
	Stopped   State = "stopped" // off, or its guest or kubelet has not started
	Suspended State = "suspended"
	Hung      State = "hung" // although its VM runs
	Gone      State = "gone" // destroyed, or no node any more; the last state of a machine
)

// Machine is what one machine is like, with all that its node says of itself.
type Machine struct {
	// ID is unique, unlike the name.
	ID string `json:"id"`
	// Name is the node's: the guest's hostname in lower case. It stays as long as the guest runs.
	Name  string `json:"name,omitempty"`
	State State  `json:"state"`
	// Cut says that its network is cut off.
	Cut bool `json:"cut,omitempty"`
	// Boot is when the guest booted, Starts how often its kubelet was started again since.
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
	if len(m.Addresses) != len(o.Addresses) {
		return false
	}
	for i := range m.Addresses {
		if m.Addresses[i] != o.Addresses[i] {
			return false
		}
	}
	return m.ID == o.ID && m.Name == o.Name && m.State == o.State && m.Cut == o.Cut && m.Boot.Equal(o.Boot) && m.Starts == o.Starts &&
		m.UUID == o.UUID && m.CPUs == o.CPUs && m.MemoryBytes == o.MemoryBytes && m.OSImage == o.OSImage && m.Kernel == o.Kernel &&
		m.ControlPlane == o.ControlPlane
}

// Line is one line of the stream. One that is empty only says that the source is there.
type Line struct {
	Machine *Machine `json:"machine,omitempty"`
	// Synced marks that all machines were sent. It comes once in a stream.
	Synced bool `json:"synced,omitempty"`
}
