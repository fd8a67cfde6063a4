package vcenter_test

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

func TestWatch(t *testing.T) {
	v := start(t)
	c, _ := run(t, v.config())
	r := watch(t, c)
	eventually(t, "three VMs in sync", r.when(func() bool { return r.synced && len(r.vms) == 3 }))

	admin := v.admin(t)
	task, err := vm(t, admin, "vm-1").PowerOff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "vm-1 off, guest cleared", r.when(func() bool {
		for _, v := range r.vms {
			if v.Name == "vm-1" {
				return v.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff && len(v.Guest.Net) == 0
			}
		}
		return false
	}))
	if task, err = vm(t, admin, "vm-1").Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "vm-1 left", r.when(func() bool { return len(r.vms) == 2 && r.power("vm-1") == "" }))
	if n := len(sessions(t, admin)); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

// A watch that breaks reports it, keeps the delivered state, and returns complete on the same session.
func TestWatchOutage(t *testing.T) {
	v := start(t)
	c, _ := run(t, v.config())
	r := watch(t, c)
	eventually(t, "in sync", r.when(func() bool { return r.synced }))

	v.gate(t, gate.Down)
	eventually(t, "lost", r.when(func() bool { return !r.synced }))
	if _, err := c.Session(); err == nil {
		t.Error("a session is handed out while the vCenter is down")
	}
	eventually(t, "VMs kept", r.when(func() bool { return len(r.vms) == 3 }))

	v.gate(t, gate.Up)
	eventually(t, "in sync again", r.when(func() bool { return r.synced && len(r.vms) == 3 }))
	if n := len(sessions(t, v.admin(t))); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

// A vCenter that accepts connections and never answers is noticed after MaxWait and CallTimeout.
func TestWatchHung(t *testing.T) {
	v := start(t)
	cfg := v.config()
	cfg.MaxWait, cfg.CallTimeout = time.Second, shortCall
	c, _ := run(t, cfg)
	r := watch(t, c)
	eventually(t, "in sync", r.when(func() bool { return r.synced }))

	v.gate(t, gate.Hung)
	hung := time.Now()
	eventually(t, "lost", r.when(func() bool { return !r.synced }))
	if d := time.Since(hung); d > 20*time.Second {
		t.Errorf("noticed after %s", d)
	}
	eventually(t, "not connected", func() bool { return !c.State().Connected })

	v.gate(t, gate.Up)
	eventually(t, "in sync again", r.when(func() bool { return r.synced && len(r.vms) == 3 }))
}

// A vCenter that restarts has lost the session with its collector and view.
func TestWatchSessionEnded(t *testing.T) {
	v := start(t)
	c, _ := run(t, v.config())
	r := watch(t, c)
	eventually(t, "in sync", r.when(func() bool { return r.synced }))
	admin := v.admin(t)
	if err := admin.SessionManager.TerminateSession(t.Context(), sessions(t, admin)); err != nil {
		t.Fatal(err)
	}
	// A change wakes the poll of the dead session, unless the vCenter has ended it.
	task, err := vm(t, admin, "vm-2").PowerOff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "in sync on a new session", r.when(func() bool {
		return r.synced && r.syncs > 1 && r.power("vm-2") == types.VirtualMachinePowerStatePoweredOff
	}))
	if n := len(sessions(t, admin)); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

// A lost collector, or a version that the vCenter does not know, does not mean that objects are gone: the watch starts again on the
// same session, without reporting that VMs left.
func TestWatchCollectorLost(t *testing.T) {
	v := start(t)
	cfg := v.config()
	cfg.MaxWait = time.Second
	c, _ := run(t, cfg)
	r := watch(t, c)
	eventually(t, "in sync", r.when(func() bool { return r.synced }))
	for n, fault := range []string{"ManagedObjectNotFound", "InvalidCollectorVersion", "InvalidArgument"} {
		v.rule(t, gate.Rule{
			Match:  gate.Match{Methods: []string{"WaitForUpdatesEx"}},
			Action: gate.Fault{Type: fault}, Count: 1,
		})
		eventually(t, fault, r.when(func() bool { return len(r.lost) == n+1 }))
		eventually(t, "in sync again", r.when(func() bool { return r.synced && r.syncs == n+2 }))
		if ok := r.when(func() bool { return len(r.vms) == 3 })(); !ok {
			t.Errorf("%s: VMs are missing", fault)
		}
	}
	if s := c.State(); !s.Connected || s.Reconnects > 0 {
		t.Errorf("state %+v", s)
	}
	if n := len(sessions(t, v.admin(t))); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}
