package cns_test

import (
	"strings"
	"testing"
	"time"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

func TestScriptedFaults(t *testing.T) {
	s := serve(t, 2, cns.Options{})
	id, other := s.create(t, spec("pvc", "c", 10)), s.create(t, spec("other", "c", 10))
	undo := s.Script(cns.Rule{Method: "CnsAttachVolume", Volume: id, Fault: new(types.NotSupported), Count: 2})
	fine(t, s.attach(t, other, s.vms[0]))
	refusedWith[*types.NotSupported](t, s.attach(t, id, s.vms[0]))
	refusedWith[*types.NotSupported](t, s.attach(t, id, s.vms[1]))
	fine(t, s.attach(t, id, s.vms[0])) // it was for two
	undo()

	undo = s.Script(cns.Rule{VM: s.vms[0], Fault: new(types.InvalidState)})
	refusedWith[*types.InvalidState](t, s.detach(t, id, s.vms[0]))
	refusedWith[*types.InvalidState](t, s.extend(t, id, 20)) // it is on that VM
	refusedWith[*types.NotFound](t, s.detach(t, id, s.vms[1]))
	undo()
	undo()
	fine(t, s.detach(t, id, s.vms[0]))

	// By name, for volumes that are not there yet; and the task itself.
	defer s.Script(cns.Rule{Volume: "new", Fault: &cnstypes.CnsFault{Reason: "because"}, Count: 1})()
	if f := refusedWith[*cnstypes.CnsFault](t, s.asked(t, spec("new", "c", 10))); f.Reason != "because" {
		t.Errorf("reason %q", f.Reason)
	}
	defer s.Script(cns.Rule{Method: "CnsDeleteVolume", TaskFault: new(types.SystemError)})()
	task, err := s.cns.DeleteVolume(t.Context(), []cnstypes.CnsVolumeId{{Id: other}}, true)
	if err == nil {
		err = task.Wait(t.Context())
	}
	if !fault.Is(err, new(types.SystemError)) {
		t.Errorf("deletion: %v", err)
	}
}

// TestScriptedDelay holds up one call, and nothing else; it ends with its rule.
func TestScriptedDelay(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	id, other := s.create(t, spec("pvc", "c", 10)), s.create(t, spec("other", "c", 10))
	undo := s.Script(cns.Rule{Method: "CnsAttachVolume", Volume: id, Delay: time.Hour})
	task, err := s.cns.AttachVolume(t.Context(), []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: s.vms[0]}})
	if err != nil {
		t.Fatal(err)
	}
	fine(t, s.attach(t, other, s.vms[0]))
	fine(t, s.extend(t, id, 20))
	if n := len(s.query(t, new(cnstypes.CnsQueryFilter)).Volumes); n != 2 {
		t.Errorf("%d volumes", n)
	}
	var state mo.Task
	if s.get(t, task.Reference(), &state, "info.state"); state.Info.State != types.TaskInfoStateRunning {
		t.Errorf("the task is %s", state.Info.State)
	}
	undo()
	fine(t, only(t, task, nil))
}

// TestCloseEndsDelays: Close does not wait for an hour.
func TestCloseEndsDelays(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	id := s.create(t, spec("pvc", "c", 10))
	s.Script(cns.Rule{Delay: time.Hour})
	task, err := s.cns.AttachVolume(t.Context(), []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: s.vms[0]}})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := task.Wait(t.Context()); !fault.Is(err, new(types.RequestCanceled)) {
		t.Errorf("task: %v", err)
	}
	s.Close()
}

// TestEvents: everything that happens to a volume is written down, what is refused with its reason, and with its cause.
func TestEvents(t *testing.T) {
	log := event.NewLog(0)
	s := serve(t, 2, cns.Options{Events: log, VCenter: "vc", Cause: func(vm vc.Ref) uint64 {
		if vm.Type != "VirtualMachine" {
			t.Errorf("asked of %v", vm)
		}
		return 77
	}})
	id := s.create(t, spec("pvc", "c", 10, s.datastores[0]))
	fine(t, s.attach(t, id, s.vms[0]))
	refusedWith[*types.ResourceInUse](t, s.attach(t, id, s.vms[0])) // as it is: no event
	refusedWith[*types.ResourceInUse](t, s.attach(t, id, s.vms[1]))
	release := s.Causing(id, 42)
	fine(t, s.extend(t, id, 20))
	release()
	fine(t, s.detach(t, id, s.vms[0]))
	fine(t, s.relocate(t, id, s.datastores[1]))
	fine(t, s.remove(t, id))
	want := []struct {
		kind, says string
		cause      uint64
	}{
		{"volume.created", "LocalDS_0", 0},
		{"volume.attached", "DC0_C0_RP0_VM0", 77},
		{"volume.refused", "on VM DC0_C0_RP0_VM0,", 77},
		{"volume.extended", "20 MiB", 42},
		{"volume.detached", "DC0_C0_RP0_VM0", 77},
		{"volume.relocated", "LocalDS_1", 0},
		{"volume.deleted", "", 0},
	}
	all, _ := log.Read(0, 0)
	if len(all) != len(want) {
		t.Fatalf("events %v", kindsOf(log))
	}
	for i, e := range all {
		if w := want[i]; e.Kind != w.kind || !strings.Contains(e.Message, w.says) || e.Cause != w.cause ||
			e.Plane != event.PlaneVSphere || e.Object != (event.Object{Kind: "Volume", VCenter: "vc", Name: "pvc"}) {
			t.Errorf("%+v, want %+v", e, w)
		}
	}
}
