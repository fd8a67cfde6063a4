package node

import "time"

// Power is a VM's power state, as a vCenter has it.
type Power string

// The power states.
const (
	On        Power = "on"
	Off       Power = "off"
	Suspended Power = "suspended"
)

// Machine is what a node needs to know of its VM. The zero value is a VM that is not there.
type Machine struct {
	// Exists is false once the VM was destroyed or unregistered.
	Exists bool
	Power  Power
	// BootTime changes at each power-on and reset.
	BootTime time.Time
	// GuestUp is set if the guest has booted: its tools run and have reported its hostname.
	GuestUp  bool
	Hostname string
	// UUID is the BIOS UUID.
	UUID        string
	CPUs        int
	MemoryBytes uint64
	GuestID     string
	// Disks are the virtual disks that volumes are on; the VM's own are not among them.
	Disks []Disk
}

// Disk is a virtual disk of a VM that is a volume's.
type Disk struct {
	// UUID is that of its backing, by which the guest finds it.
	UUID string
	// VolumeID is the id of the first class disk: the CSI volume's. A disk of the in-tree provider that is none yet goes by the
	// path of its file.
	VolumeID string
	Bytes    int64
}
