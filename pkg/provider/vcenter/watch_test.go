package vcenter_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
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

// listener is a recorder that watches events, and keeps the names of changes of each VM.
type listener struct {
	*recorder
	following bool
	happened  int
	changes   [][]string
}

func (l *listener) Update(batch []vcenter.Update) {
	l.mu.Lock()
	for _, u := range batch {
		var names []string
		for _, c := range u.Changes {
			names = append(names, c.Name)
		}
		if u.Kind == vcenter.Modify {
			l.changes = append(l.changes, names)
		}
	}
	l.mu.Unlock()
	l.recorder.Update(batch)
}

func (l *listener) Following(ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.following = ok
}

func (l *listener) EventsOccurred() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.happened++
}

func listen(t *testing.T, c *vcenter.Client, spec vcenter.WatchSpec) *listener {
	t.Helper()
	l := &listener{recorder: newRecorder()}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Watch(ctx, spec, l)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	eventually(t, "in sync", l.when(func() bool { return l.synced }))
	return l
}

// Events of the requested types are reported, others are not, and a watch that starts again assumes that some were missed.
func TestWatchEvents(t *testing.T) {
	v := start(t)
	c, _ := run(t, v.config())
	l := listen(t, c, vcenter.WatchSpec{
		Properties: map[string][]string{"VirtualMachine": {"name"}}, Events: []string{"test.interesting"},
	})
	eventually(t, "the beginning", l.when(func() bool { return l.following && l.happened == 1 }))
	admin := v.admin(t)
	post := func(kind string) {
		t.Helper()
		root := admin.ServiceContent.RootFolder
		_, err := methods.PostEvent(t.Context(), admin.Client, &types.PostEvent{
			This: *admin.ServiceContent.EventManager,
			EventToPost: &types.EventEx{
				Event:       types.Event{CreatedTime: time.Now()},
				EventTypeId: kind, ObjectType: root.Type, ObjectId: root.Value,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	post("test.dull")
	post("test.interesting")
	eventually(t, "an event", l.when(func() bool { return l.happened == 2 }))
	post("test.interesting")
	eventually(t, "another", l.when(func() bool { return l.happened == 3 }))

	v.gate(t, gate.Down)
	eventually(t, "lost", l.when(func() bool { return !l.synced }))
	v.gate(t, gate.Up)
	eventually(t, "in sync again", l.when(func() bool { return l.synced && l.following && l.happened == 4 }))
	post("test.interesting")
	eventually(t, "an event again", l.when(func() bool { return l.happened == 5 }))
}

// A vCenter that is too slow at searching its events is watched without them.
func TestWatchEventsSlow(t *testing.T) {
	v := start(t)
	v.rule(t, gate.Rule{Match: gate.Match{Methods: []string{"CreateCollectorForEvents"}}, Action: gate.Hang{}})
	cfg := v.config()
	cfg.CallTimeout = shortCall
	c, _ := run(t, cfg)
	l := listen(t, c, vcenter.WatchSpec{
		Properties: map[string][]string{"VirtualMachine": {"name"}}, Events: []string{"test.interesting"},
	})
	if l.when(func() bool { return l.following })() {
		t.Error("events are followed")
	}
	eventually(t, "connected", func() bool { return c.State().Connected })
}

// A path that changes alone brings the other paths; paths that change with it are not read twice.
func TestWatchAlong(t *testing.T) {
	const text, encoding = `config.extraConfig["text"]`, `config.extraConfig["encoding"]`
	v := start(t)
	c, _ := run(t, v.config())
	l := listen(t, c, vcenter.WatchSpec{
		Properties: map[string][]string{"VirtualMachine": {"name", text, encoding}},
		Related:    map[string][]string{encoding: {text}},
	})
	admin := v.admin(t)
	for _, step := range []struct {
		options []string
		want    []string
	}{
		{[]string{"text", "a", "encoding", "b"}, []string{encoding, text}},
		{[]string{"text", "c"}, []string{text}},
		{[]string{"encoding", "d"}, []string{encoding, text}},
		{[]string{"encoding", ""}, []string{encoding, text}},
	} {
		spec := types.VirtualMachineConfigSpec{}
		for i := 0; i < len(step.options); i += 2 {
			spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: step.options[i], Value: step.options[i+1]})
		}
		l.mu.Lock()
		l.changes = nil
		l.mu.Unlock()
		task, err := vm(t, admin, "vm-1").Reconfigure(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the change", l.when(func() bool { return len(l.changes) > 0 }))
		l.mu.Lock()
		got := slices.Concat(l.changes...)
		l.mu.Unlock()
		slices.Sort(got)
		if !slices.Equal(got, step.want) {
			t.Errorf("%v: told %v, want %v", step.options, got, step.want)
		}
	}
}
