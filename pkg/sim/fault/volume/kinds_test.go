package volume_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/volume"
)

// trial is a kind tried on an object, and refused.
type trial struct {
	on     string
	params map[string]string
	// effect looks at what has become of it, after at what can be done again.
	effect, after func(w world)
	// obstacle makes it impossible; refused are other parameters for that.
	obstacle func(w world)
	refused  map[string]string
	code     string
}

type set = map[string]string

func trials() map[string]trial {
	noNode := set{"volume": "pvc-9"}
	return map[string]trial{
		"volume.create-fails": {on: "vc", effect: func(w world) {
			_, err := w.tryCreate("pvc-2")
			w.is(new(cnstypes.CnsFault), err)
			if n := len(w.vcenter.Volumes()); n != 1 {
				w.t.Errorf("%d volumes", n)
			}
			w.ok(w.snapshot(w.id)) // and nothing else fails
			w.clean()
		}, after: func(w world) { w.create("pvc-2") }, refused: set{"answer": "no"}, code: "invalid"},
		"volume.attach-fails": {on: "vc", params: set{"volume": "pvc-1", "answer": "not-supported"}, effect: func(w world) {
			other := w.create("pvc-2")
			w.ok(w.attach("b", other)) // is not meant
			w.ok(w.detach("b", other))
			w.ok(w.remove(other))
			w.ok(w.detach("a", w.id))
			w.is(new(types.NotSupported), w.attach("a", w.id))
		}, after: func(w world) { w.ok(w.detach("a", w.id)); w.ok(w.attach("b", w.id)) }, refused: noNode},
		"volume.detach-fails": {on: "vc", params: set{"vm": "a"}, effect: func(w world) {
			other := w.create("pvc-2")
			w.ok(w.attach("b", other))
			w.ok(w.detach("b", other))
			w.ok(w.remove(other))
			w.is(new(cnstypes.CnsFault), w.detach("a", w.id))
		}, after: func(w world) { w.ok(w.detach("a", w.id)) }, refused: set{"vm": "c"}},
		"volume.expand-fails": {on: "vc", params: set{"answer": "task-fault"}, effect: func(w world) {
			w.is(new(types.SystemError), w.extend(w.id))
		}, after: func(w world) { w.ok(w.extend(w.id)) }, refused: noNode},
		"volume.snapshot-fails": {on: "vc", params: set{"volume": "pvc-1", "answer": "no-permission"}, effect: func(w world) {
			w.is(new(types.NoPermission), w.snapshot(w.id))
		}, after: func(w world) { w.ok(w.snapshot(w.id)) }, refused: noNode},
		"volume.delete-fails": {on: "vc", params: set{"answer": "in-use"}, effect: func(w world) {
			w.is(new(types.ResourceInUse), w.remove(w.create("pvc-2")))
			w.Heal(w.t, "f1") // or it stays
			for _, v := range w.vcenter.Volumes() {
				if v.Name == "pvc-2" {
					w.ok(w.remove(cnstypes.CnsVolumeId{Id: v.ID}))
				}
			}
		}, refused: noNode},
		"volume.attach-slow": {on: "vc", params: set{"by": slower.String()}, effect: func(w world) {
			w.ok(w.detach("a", w.id))
			w.took(slower, func() { w.ok(w.attach("a", w.id)) })
		}, refused: set{"by": "0s"}, code: "invalid"},
		"cns.slow": {on: "vc", params: set{"by": slower.String()}, effect: func(w world) {
			w.took(slower, func() { w.ok(w.detach("a", w.id)) })
			w.took(slower, func() { w.ok(w.attach("a", w.id)) })
		}, refused: set{"by": "0s"}, code: "invalid"},
		"volume.detached": {on: "pvc-1", effect: func(w world) {
			if v, ok := w.vcenter.Volume(w.id.Id); !ok || v.VMName != "" {
				w.t.Errorf("volume %+v, %t", v, ok)
			}
		}, obstacle: func(w world) { w.ok(w.detach("a", w.id)) }},
		"volume.moved": {on: "pvc-1", params: set{"datastore": "other"}, effect: func(w world) {
			if v, _ := w.vcenter.Volume(w.id.Id); v.DatastoreName != "other" || v.VMName != "a" {
				w.t.Errorf("volume %+v", v)
			}
		}, refused: set{"datastore": "nowhere"}},
		"volume.forgotten": {on: "pvc-1", effect: func(w world) {
			w.is(new(types.NotFound), w.detach("a", w.id))
			if len(w.vcenter.Volumes()) != 0 {
				w.t.Error("it is not forgotten")
			}
		}, after: func(w world) { w.ok(w.detach("a", w.id)); w.ok(w.attach("a", w.id)) }, obstacle: func(w world) {
			w.ok(w.detach("a", w.id))
			w.ok(w.remove(w.id))
		}, code: "not-found"},
	}
}

// slower is how much longer calls take in the trials, and more than anything else does.
const slower = 1500 * time.Millisecond

func (w world) took(least time.Duration, f func()) {
	w.t.Helper()
	begin := time.Now()
	if f(); time.Since(begin) < least {
		w.t.Errorf("took %s", time.Since(begin))
	}
}

// clean deletes all snapshots.
func (w world) clean() {
	w.t.Helper()
	r, err := w.cns().QuerySnapshots(w.t.Context(), cnstypes.CnsSnapshotQueryFilter{SnapshotQuerySpecs: []cnstypes.CnsSnapshotQuerySpec{{VolumeId: w.id}}})
	w.ok(err)
	info, err := r.WaitForResult(w.t.Context())
	w.ok(err)
	for _, e := range info.Result.(cnstypes.CnsSnapshotQueryResult).Entries {
		_, err := w.ends(w.cns().DeleteSnapshots(w.t.Context(), []cnstypes.CnsSnapshotDeleteSpec{{VolumeId: w.id, SnapshotId: e.Snapshot.SnapshotId}}))
		w.ok(err)
	}
}

// TestKinds sees the effect of each kind, its revert and its refusal.
func TestKinds(t *testing.T) {
	all := trials()
	for _, k := range volume.Kinds() {
		trial, ok := all[k.Name]
		if !ok {
			t.Errorf("%s: no trial", k.Name)
			continue
		}
		delete(all, k.Name)
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			before, record := w.Shown(), w.record()
			request := fault.Request{Kind: k.Name, On: faulttest.On(trial.on), Params: trial.params}
			w.Plan(t, volume.Kinds(), request)
			w.WaitUnchanged(before)
			lease := w.Inject(t, volume.Kinds(), request)
			trial.effect(w)
			w.Heal(t, lease.ID)
			if k.Name == "volume.attach-fails" {
				w.ok(w.attach("a", w.id)) // what the trial took off
			}
			w.WaitUnchanged(before)
			if diff := cmp.Diff(record, w.record()); diff != "" {
				t.Errorf("record (-before +healed):\n%s", diff)
			}
			if caused := w.Caused(lease.Seq); len(caused) < 2 { // the healing is one
				t.Errorf("it caused %v", caused)
			}
			if trial.after != nil {
				trial.after(w)
			}
			if trial.obstacle != nil {
				trial.obstacle(w)
			}
			if trial.refused != nil {
				request.Params = trial.refused
			}
			if trial.code == "" {
				trial.code = "conflict"
			}
			before = w.Shown()
			if r := w.Refused(t, volume.Kinds(), request); r.Code != trial.code {
				t.Errorf("refused: %+v", r)
			}
			w.WaitUnchanged(before)
		})
	}
	for name := range all {
		t.Errorf("%s: no such kind", name)
	}
}

// TestCount: a rule that is for so many calls is over after them.
func TestCount(t *testing.T) {
	w := start(t)
	w.Inject(t, volume.Kinds(), fault.Request{Kind: "volume.detach-fails", On: faulttest.On("vc"), Params: set{"count": "2"}})
	for range 2 {
		w.is(new(cnstypes.CnsFault), w.detach("a", w.id))
	}
	w.ok(w.detach("a", w.id))
}

// TestHealingEndsDelays: healing ends a delay at once.
func TestHealingEndsDelays(t *testing.T) {
	w := start(t)
	lease := w.Inject(t, volume.Kinds(), fault.Request{Kind: "cns.slow", On: faulttest.On("vc"), Params: set{"by": "10m"}})
	task, err := w.cns().DetachVolume(t.Context(), w.on("a", w.id))
	w.ok(err)
	w.Heal(t, lease.ID)
	_, err = w.ends(task, nil)
	w.ok(err)
}

// TestHealWhatHasGoneOn: healing does not undo later changes of a volume.
func TestHealWhatHasGoneOn(t *testing.T) {
	for name, tc := range map[string]struct {
		kind   string
		params set
		do     func(world)
		holds  func(world) bool
	}{
		"attached elsewhere": {
			kind: "volume.detached", do: func(w world) { w.ok(w.attach("b", w.id)) },
			holds: func(w world) bool { v, _ := w.vcenter.Volume(w.id.Id); return v.VMName == "b" },
		},
		"its VM is gone": {
			kind: "volume.detached", do: func(w world) { w.destroy("a") },
			holds: func(w world) bool { v, ok := w.vcenter.Volume(w.id.Id); return ok && v.VMName == "" },
		},
		"deleted": {
			kind: "volume.detached", do: func(w world) { w.ok(w.remove(w.id)) },
			holds: func(w world) bool { return len(w.vcenter.Volumes()) == 0 },
		},
		"moved and deleted": {
			kind: "volume.moved", params: set{"datastore": "other"}, do: func(w world) { w.ok(w.detach("a", w.id)); w.ok(w.remove(w.id)) },
			holds: func(w world) bool { return len(w.vcenter.Volumes()) == 0 },
		},
		"registered anew": {
			kind: "volume.forgotten", do: func(w world) {
				spec := w.spec("again")
				spec[0].BackingObjectDetails = &cnstypes.CnsBlockBackingDetails{BackingDiskId: w.id.Id}
				_, err := w.ends(w.cns().CreateVolume(w.t.Context(), spec))
				w.ok(err)
			},
			holds: func(w world) bool { v, _ := w.vcenter.Volume(w.id.Id); return v.Name == "again" && v.VMName == "a" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			lease := w.Inject(t, volume.Kinds(), fault.Request{Kind: tc.kind, On: faulttest.On("pvc-1"), Params: tc.params})
			tc.do(w)
			w.Heal(t, lease.ID)
			if !tc.holds(w) {
				t.Errorf("volumes %+v", w.vcenter.Volumes())
			}
		})
	}
}

// TestByID: a volume is chosen by its id, too.
func TestByID(t *testing.T) {
	w := start(t)
	w.create("pvc-2")
	l := w.Plan(t, volume.Kinds(), fault.Request{Kind: "volume.forgotten", On: faulttest.On(w.id.Id)})
	if len(l.Targets) != 1 || l.Targets[0].Target.Name != "pvc-1" || !strings.Contains(l.Targets[0].Effect, w.id.Id) {
		t.Errorf("%+v", l.Targets)
	}
}

func (w world) destroy(vm string) {
	w.t.Helper()
	c := w.vm(vm)
	task, err := c.PowerOff(w.t.Context())
	w.ok(err)
	w.ok(task.Wait(w.t.Context()))
	task, err = c.Destroy(w.t.Context())
	w.ok(err)
	w.ok(task.Wait(w.t.Context()))
}
