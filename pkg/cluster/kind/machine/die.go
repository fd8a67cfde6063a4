package machine

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"

// Die ends the guest as the loss of its host's power does: the container is killed at once, whatever the vCenter shows, which may
// go on showing what it saw last, and is not started until the VM has booted again or was seen powered off.
func (m *Machine) Die() {
	m.change(func() {
		booted := m.machine.BootTime
		m.died = &booted
	})
}

// lifeless tells whether the boot that the vCenter shows is one that died. The caller holds the lock.
func (m *Machine) lifeless() bool {
	if m.died == nil {
		return false
	}
	if vm := m.machine; !vm.Exists || vm.Power == node.Off || rebooted(*m.died, vm.BootTime) {
		m.died = nil
	}
	return m.died != nil
}
