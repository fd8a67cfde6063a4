package node

import "time"

// Life decides what a VM's guest does: from the VM as the vCenter shows it, and from what happened to the guest that a vCenter
// does not show. Each kind of guest (a process, a container, a light node) acts on [Life.Next] in its own way. The zero value is
// the guest of a VM that is not there. It is not safe for concurrent use.
type Life struct {
	VM Machine
	// hung says that the guest stands still although its VM runs.
	hung bool
	// died is set if the guest lost its power in the VM's present boot, independent of what the vCenter shows.
	died bool
}

// Next is what a guest has to do.
type Next struct {
	// End says that a guest of the given boot is over: its power is lost.
	End bool
	// Start says that a guest that does not run has to boot.
	Start bool
	// State is what a guest that runs, and is not over, does: Running, Paused or Hung.
	State Process
}

// Observe takes the VM as the vCenter shows it now. A guest that died stays dead until the VM has booted again, is off or is gone.
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

// Hang makes a guest that does what process says stand still until Unhang, and reports whether it runs: no other can hang.
func (l *Life) Hang(process Process) bool {
	if process != Running {
		return false
	}
	l.hung = true
	return true
}

// Unhang lets a hung guest run on. The driver calls it for each guest that ended, too: the next boot is not hung.
func (l *Life) Unhang() { l.hung = false }

// Next returns what the guest has to do. boot is the VM's boot time that the running guest belongs to, the zero time when none
// runs or it is not known.
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

// lost reports that a VM has no power, so no guest.
func lost(vm Machine) bool { return !vm.Exists || vm.Power == Off }

// rebooted reports that a boot time is that of another boot. A vCenter that has lost sight of a host may not know it.
func rebooted(was, is time.Time) bool { return !was.IsZero() && !is.IsZero() && !is.Equal(was) }
