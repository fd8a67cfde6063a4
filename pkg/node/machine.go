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

// Machine is the state of a VM. The zero value is a VM that does not exist.
type Machine struct {
	// Exists is false once the VM was destroyed or unregistered.
	Exists bool
	Power  Power
	// BootTime changes with each power-on and reset.
	BootTime time.Time
	// GuestUp is set if the guest has booted: its tools run and have reported its hostname.
	GuestUp  bool
	Hostname string
	// UUID is the BIOS UUID.
	UUID        string
	CPUs        int
	MemoryBytes uint64
	GuestID     string
	// Disks are the virtual disks of volumes, without the VM's own disks.
	Disks []Disk
}

// Disk is a virtual disk of a volume.
type Disk struct {
	// UUID is that of its backing, which the guest sees.
	UUID string
	// VolumeID is the ID of the first class disk, which is the CSI volume's; of a disk of the in-tree provider that is
	// none yet, the path of its file.
	VolumeID string
	Bytes    int64
}
