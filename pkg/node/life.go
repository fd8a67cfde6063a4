package node

import (
	"time"
)

// Life decides what a VM's guest does: from the VM as the vCenter shows it, and from events of the guest that a vCenter
// does not show. All kinds of guests (a process, a container, a light node) carry out [Life.Next]. The zero value is the
// guest of a VM that does not exist. It is not safe for concurrent use.
type Life struct {
	VM Machine
	// hung is set while the guest hangs although its VM runs.
	hung bool
	// died is set if the guest lost its power in the VM's present boot, independent of what the vCenter shows.
	died bool
}

// Next is the next action of a guest.
type Next struct {
	// End is set if the guest of the given boot must end: its power is lost.
	End bool
	// Start is set if a guest that does not run must boot.
	Start bool
	// State is the state of a guest that runs and need not end: Running, Paused or Hung.
	State Process
}

// Observe sets the VM's state. A guest that died stays dead until the VM has booted again, is off or is gone.
func (l *Life) Observe(vm Machine) {
	if l.died && (lost(vm) || rebooted(l.VM.BootTime, vm.BootTime)) {
		l.died = false
	}
	if vm.BootTime.IsZero() && l.died {
		vm.BootTime = l.VM.BootTime // of the boot that died
	}
	l.VM = vm
}

// Die ends the guest as the loss of its host's power does.
func (l *Life) Die() { l.died = !lost(l.VM) }

// Hang makes a guest hang until Unhang, and reports whether it runs: only a running guest can hang.
func (l *Life) Hang(process Process) bool {
	if process != Running {
		return false
	}
	l.hung = true
	return true
}

// Unhang resumes a hung guest. The driver also calls it when a guest has ended: the next boot does not hang.
func (l *Life) Unhang() { l.hung = false }

// Next returns the next action. boot is the VM's boot time of the running guest; zero if none runs or it is unknown.
func (l *Life) Next(boot time.Time) Next {
	next := Next{
		End:   l.died || lost(l.VM) || rebooted(boot, l.VM.BootTime),
		Start: !l.died && l.VM.Exists && l.VM.Power == On && l.VM.GuestUp,
		State: Running,
	}
	switch {
	case l.VM.Power == Suspended:
		next.State = Paused
	case l.hung && !next.End:
		next.State = Hung
	}
	return next
}

// lost reports whether a VM has no power, so no guest.
func lost(vm Machine) bool { return !vm.Exists || vm.Power == Off }

// rebooted reports whether a boot time is that of another boot. Without a connection to the host a vCenter may not know it.
func rebooted(was, is time.Time) bool { return !was.IsZero() && !is.IsZero() && !is.Equal(was) }

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
