package truth

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
)

func TestFinishedTasksGo(t *testing.T) {
	v := start(t)
	vm := v.vms()[0]
	j := v.truth.retention
	change := func() {
		if err := finish(t.Context(), func() (*object.Task, error) {
			return vm.Reconfigure(t.Context(), types.VirtualMachineConfigSpec{Annotation: "x"})
		}); err != nil {
			t.Fatal(err)
		}
	}
	change()
	j.mu.Lock()
	for i := range j.finished {
		j.finished[i].at = time.Now().Add(-2 * taskLife)
	}
	old := len(j.finished)
	j.mu.Unlock()
	if old == 0 {
		t.Fatal("no finished task was noted")
	}
	change() // whose end makes it run
	j.work.Wait()
	left := v.base.Map.AllReference("Task")
	var m mo.VirtualMachine
	if err := vm.Properties(t.Context(), vm.Reference(), []string{"recentTask"}, &m); err != nil {
		t.Fatal(err)
	}
	for _, ref := range m.RecentTask {
		if v.base.Map.Get(ref) == nil {
			t.Errorf("recentTask has %s, which is gone", ref)
		}
	}
	if len(m.RecentTask) != 1 {
		t.Errorf("%d recent tasks of the VM, want the last one", len(m.RecentTask))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.finished) != 1 || len(left) < 1 {
		t.Errorf("%d finished tasks noted, %d in the registry; want the last one", len(j.finished), len(left))
	}
}

func TestTooManyTasksGo(t *testing.T) {
	if race.Enabled {
		t.Skip("vcsim writes an entity's recentTask without its lock: run it without -race, as make test does, too")
	}
	v := start(t)
	j := v.truth.retention
	vm := v.vms()[0]
	for range maxTasks + maxTasks/10 + 2 {
		if _, err := vm.Rename(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := finish(t.Context(), func() (*object.Task, error) { return vm.Rename(t.Context(), "y") }); err != nil {
		t.Fatal(err)
	}
	j.work.Wait()
	if n := len(v.base.Map.AllReference("Task")); n > maxTasks+maxTasks/10+10 {
		t.Errorf("%d tasks are kept", n)
	}
}

func TestCollectorsOfEndedSessionsGo(t *testing.T) {
	v := start(t)
	make32 := func() error {
		for range 32 {
			_, err := v.eventCollector()
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := make32(); err != nil {
		t.Fatal(err)
	}
	if err := make32(); err == nil {
		t.Fatal("vcsim's limit is gone: this test proves nothing any more")
	}
	for key := range v.truth.collectors.sessions {
		v.truth.EndSession(v.base, key)
	}
	if err := make32(); err != nil {
		t.Errorf("after the session's end: %v", err)
	}
}

func TestEventsHaveMessages(t *testing.T) {
	v := start(t)
	vm := v.vms()[0]
	for _, step := range []func() (*object.Task, error){
		func() (*object.Task, error) { return vm.PowerOn(t.Context()) },
		func() (*object.Task, error) { return vm.Suspend(t.Context()) },
		func() (*object.Task, error) { return vm.PowerOn(t.Context()) },
		func() (*object.Task, error) { return vm.PowerOff(t.Context()) },
		func() (*object.Task, error) { return vm.Destroy(t.Context()) },
	} {
		if err := finish(t.Context(), step); err != nil {
			t.Fatal(err)
		}
	}
	for _, ref := range []string{"/F0/DC0/network/F0/DVS0", "/F0/DC0/host/F0/DC0_H0"} {
		_ = v.destroy(v.ref(ref)) // it may be in use
	}
	all, err := v.events()
	if err != nil || len(all) < 10 {
		t.Fatalf("%d events, %v", len(all), err)
	}
	for _, e := range all {
		if e.GetEvent().FullFormattedMessage == "" {
			t.Errorf("%T has no message", e)
		}
	}
}

func TestSnapshotsGoWithTheirVM(t *testing.T) {
	v := start(t)
	vm := v.vms()[0]
	for _, f := range []func() (*object.Task, error){
		func() (*object.Task, error) { return vm.CreateSnapshot(t.Context(), "a", "", false, false) },
		func() (*object.Task, error) { return vm.CreateSnapshot(t.Context(), "b", "", false, false) },
	} {
		if err := finish(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(v.base.Map.AllReference("VirtualMachineSnapshot")); n != 2 {
		t.Fatalf("%d snapshots", n)
	}
	if err := v.destroy(vm.Reference()); err != nil {
		t.Fatal(err)
	}
	if n := len(v.base.Map.AllReference("VirtualMachineSnapshot")); n != 0 {
		t.Errorf("%d snapshots are left", n)
	}
}
