package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// Each refusal of CNS becomes the error with the right advice and vCenter's own message, whether it is the result for a volume or the
// end of the task.
func TestRefused(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	n := r.node("us", "vm-1")
	v := r.create("us", "pvc-1")
	attach := func(ctx context.Context) error { _, err := r.Attach(ctx, v.ID, n); return err }
	create := func(ctx context.Context) error { _, err := r.Create(ctx, r.spec("us", "pvc-2")); return err }
	expand := func(ctx context.Context) error { _, err := r.Expand(ctx, v.ID, 8*gib); return err }
	for _, tc := range []struct {
		method string
		fault  types.BaseMethodFault
		do     func(context.Context) error
		want   error // nil: none of them
		says   string
	}{
		{"CnsAttachVolume", new(types.TooManyDevices), attach, volume.ErrNoSlot, "TooManyDevices"},
		{"CnsAttachVolume", new(types.MissingController), attach, volume.ErrNoSlot, ""},
		{"CnsAttachVolume", &cnstypes.CnsFault{Reason: "Failed to add disk scsi0:7: missing SCSI controller"}, attach, volume.ErrNoSlot, "missing SCSI controller"},
		{"CnsAttachVolume", new(types.NoPermission), attach, volume.ErrPermission, "NoPermission"},
		{"CnsAttachVolume", new(types.InvalidPowerState), attach, volume.ErrState, "InvalidPowerState"},
		{"CnsAttachVolume", new(types.NotSupported), attach, volume.ErrNotSupported, "NotSupported"},
		{"CnsAttachVolume", new(types.HostNotConnected), attach, volume.ErrState, ""},
		{"CnsAttachVolume", new(types.FileLocked), attach, volume.ErrInUse, "FileLocked"},
		{"CnsAttachVolume", new(types.ResourceInUse), attach, volume.ErrInUse, ""},
		{"CnsAttachVolume", new(cnstypes.CnsNotRegisteredFault), attach, volume.ErrNotFound, ""},
		{"CnsAttachVolume", new(types.TaskInProgress), attach, volume.ErrPending, ""},
		{"CnsAttachVolume", &cnstypes.CnsFault{Reason: "VSLM task failed"}, attach, nil, "VSLM task failed"},
		{"CnsAttachVolume", new(types.SystemError), attach, nil, "SystemError"},
		{"CnsCreateVolume", new(types.NoDiskSpace), create, volume.ErrNoSpace, "datastore"},
		{"CnsCreateVolume", &cnstypes.CnsFault{Reason: "out of space", MethodFault: types.MethodFault{FaultCause: &types.LocalizedMethodFault{Fault: new(types.NoDiskSpace)}}}, create, volume.ErrNoSpace, ""},
		{"CnsCreateVolume", new(types.InaccessibleDatastore), create, volume.ErrState, ""},
		{"CnsCreateVolume", new(types.InvalidArgument), create, volume.ErrInvalid, ""},
		{"CnsExtendVolume", new(types.NoDiskSpace), expand, volume.ErrNoSpace, ""},
		{"CnsExtendVolume", &cnstypes.CnsFault{Reason: "Failed to extend: the disk has snapshots"}, expand, volume.ErrSnapshots, ""},
	} {
		for _, rule := range []cns.Rule{{Method: tc.method, Fault: tc.fault}, {Method: tc.method, TaskFault: tc.fault}} {
			undo := r.vc("us").CNS().Script(rule)
			err := tc.do(ctx)
			undo()
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("%s, %T: %v, want %v", tc.method, tc.fault, err, tc.want)
				continue
			}
			if reason := store.ErrorReason(err); (tc.want == nil) != (reason == "error") {
				t.Errorf("%s, %T: reason %q", tc.method, tc.fault, reason)
			}
			for _, part := range []string{`vcenter "us"`, tc.says} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s, %T: %q is not in %q", tc.method, tc.fault, part, err)
				}
			}
		}
	}
	r.must(attach(ctx))
}

// A refused detach counts as done only if the VM does not have the disk.
func TestDetachRefused(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	n := r.node("us", "vm-1")
	v := r.create("us", "pvc-1")
	_, err := r.Attach(ctx, v.ID, n)
	r.must(err)
	unseen := r.vc("us").CNS().Script(cns.Rule{Method: "CnsDetachVolume", Fault: new(cnstypes.CnsVolumeNotFoundFault)})
	if err := r.Detach(ctx, v.ID, n); !errors.Is(err, volume.ErrState) {
		t.Errorf("the VM has the disk: %v", err)
	}
	heal := r.rule("us", gate.Rule{Match: gate.Match{Methods: []string{"RetrievePropertiesEx"}}, Action: gate.Fault{Type: "RuntimeFault"}})
	if err := r.Detach(ctx, v.ID, n); err == nil || errors.Is(err, volume.ErrNotFound) {
		t.Errorf("the VM cannot be read: %v", err)
	}
	heal()
	r.must(r.vc("us").DetachVolume(ctx, v.ID))
	r.must(r.Detach(ctx, v.ID, n))
	unseen()
}

// A call may also be refused before there is a task.
func TestCallRefused(t *testing.T) {
	r := start(t, one)
	spec := r.spec("us", "pvc-1")
	for fault, want := range map[string]error{"NoPermission": volume.ErrPermission, "RuntimeFault": nil, "NotSupported": volume.ErrNotSupported} {
		heal := r.rule("us", gate.Rule{Match: gate.Match{Methods: []string{"CnsCreateVolume"}}, Action: gate.Fault{Type: fault}})
		_, err := r.Create(t.Context(), spec)
		heal()
		if err == nil || want != nil && !errors.Is(err, want) || errors.Is(err, volume.ErrUnavailable) {
			t.Errorf("%s: %v, want %v", fault, err, want)
		}
	}
}

// A VM accepts as many disks as it has units, and no more: 256 with vCenter 8, one of which may be its own.
func TestSlots(t *testing.T) {
	race.SkipSlow(t)
	r := start(t, one)
	ctx := t.Context()
	n := r.node("us", "vm-1")
	spec := r.spec("us", "")
	spec.Capacity = 1 << 20
	var last error
	attached := 0
	for i := range 258 {
		spec.Name = fmt.Sprintf("pvc-%d", i)
		v, err := r.Create(ctx, spec)
		r.must(err)
		if _, last = r.Attach(ctx, v.ID, n); last != nil {
			break
		}
		attached++
	}
	if !errors.Is(last, volume.ErrNoSlot) || attached != 255 && attached != 256 {
		t.Errorf("after %d disks: %v", attached, last)
	}
}

func TestDatastoreFull(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	spec := r.spec("us", "pvc-1")
	ref := types.ManagedObjectReference{Type: "Datastore", Value: spec.Datastores[0].Ref}
	r.must(r.vc("us").Hosts().Fill(ctx, ref))
	if _, err := r.Create(ctx, spec); !errors.Is(err, volume.ErrNoSpace) || !strings.Contains(err.Error(), spec.Datastores[0].Name) {
		t.Errorf("full: %v", err)
	}
	r.must(r.vc("us").Hosts().Free(ctx, ref))
	if _, err := r.Create(ctx, spec); err != nil {
		t.Error(err)
	}
}

func TestWrongArguments(t *testing.T) {
	r := start(t, two)
	ctx := t.Context()
	good := r.spec("us", "pvc")
	for name, change := range map[string]func(*volume.Spec){
		"no name":          func(s *volume.Spec) { s.Name = "" },
		"no capacity":      func(s *volume.Spec) { s.Capacity = 0 },
		"no datastore":     func(s *volume.Spec) { s.Datastores = nil },
		"two vCenters":     func(s *volume.Spec) { s.Datastores = append(s.Datastores, r.datastores("eu")...) },
		"unknown vCenter":  func(s *volume.Spec) { s.Datastores = []volume.Datastore{{VCenter: "asia", Ref: "datastore-1"}} },
		"unknown snapshot": func(s *volume.Spec) { s.Snapshot = volume.SnapshotRef{Volume: "none", Snapshot: "none"} },
	} {
		spec := good
		change(&spec)
		if _, err := r.Create(ctx, spec); store.ErrorReason(err) == "ok" || store.ErrorReason(err) == "error" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for what, err := range map[string]error{
		"attach": func() error { _, err := r.Attach(ctx, "", volume.Node{VCenter: "us", VM: "vm-1"}); return err }(),
		"volume": func() error { _, err := r.Volume(ctx, ""); return err }(),
		"delete": r.Delete(ctx, ""),
	} {
		if !errors.Is(err, volume.ErrInvalid) {
			t.Errorf("%s without an id: %v", what, err)
		}
	}
}
