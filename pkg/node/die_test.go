package node_test

import (
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// A guest that died with its host is dead although the vCenter shows what it saw last, and comes back with the VM's next
// boot: another boot time, or a power-on after it was seen off.
func TestDie(t *testing.T) {
	for name, again := range map[string]func(*rig){
		"another boot": func(*rig) {},
		"seen off":     func(r *rig) { r.Observe(vm(off)); r.require(node.Stopped, 0, false) },
		"the vCenter forgets the boot time": func(r *rig) {
			r.Observe(vm(func(m *node.VM) { m.BootTime = time.Time{} }))
			r.require(node.Stopped, 0, false)
		},
	} {
		for before, stop := range map[string]func(*rig){"running": func(*rig) {}, "hung": func(r *rig) { r.Hang() }} {
			t.Run(before+", "+name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, "run")
				pid := r.running()
				stop(r)
				r.Die()
				if c := r.next(child.Stopped); c.PID != pid {
					t.Errorf("%+v, want process %d stopped", c, pid)
				}
				r.Observe(vm(nil)) // the same as before
				r.Observe(vm(toolsDown))
				r.Observe(vm(nil))
				r.require(node.Stopped, 0, false)
				again(r)
				r.requireBoots(1)
				r.Observe(vm(bootedAgain))
				r.require(node.Running, r.started(), false)
				r.requireBoots(2)
			})
		}
	}
}

// One that dies while it boots does not come up.
func TestDieBeforeTheGuestIsUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, "run")
	r.Observe(vm(toolsDown))
	r.Die()
	r.Observe(vm(nil))
	r.Observe(vm(bootedAgain))
	r.started()
	r.requireBoots(1)
}
