package node

// Die ends the guest as the loss of its host's power does: the process is killed at once, whatever the vCenter shows, which
// may go on showing what it saw last, and none is started until the VM has booted again or was seen powered off.
func (n *Node) Die() {
	n.change(func() {
		booted := n.machine.BootTime
		n.died = &booted
	})
}

// lifeless tells whether the boot that the vCenter shows is one that died. The caller holds the lock.
func (n *Node) lifeless() bool {
	if n.died == nil {
		return false
	}
	if m := n.machine; !m.Exists || m.Power == Off || rebooted(*n.died, m.BootTime) {
		n.died = nil
	}
	return n.died != nil
}
