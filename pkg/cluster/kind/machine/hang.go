package machine

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"

// Hang stops the guest where it stands, until [Machine.Unhang], or until the VM is reset or powered off. It has no effect on a
// guest that does not run, and says so by returning false.
func (m *Machine) Hang() bool {
	ok := false
	m.change(func() {
		ok = m.process == node.Running
		m.hung = m.hung || ok
	})
	return ok
}

// Unhang lets a hung guest go on. Any other is left alone.
func (m *Machine) Unhang() { m.change(func() { m.hung = false }) }
