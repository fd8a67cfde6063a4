package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// The life of a volume, with every call repeated.
func TestLife(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	n := r.node("us", "vm-1")

	v := r.create("us", "pvc-1")
	if v.ID == "" || v.Capacity != gib || v.VCenter != "us" || v.DatastoreURL != r.datastores("us")[0].URL || !v.Healthy {
		t.Errorf("created %+v", v)
	}
	if again := r.create("us", "pvc-1"); again.ID != v.ID {
		t.Errorf("created again: %+v, was %s", again, v.ID)
	}
	if found, err := r.Volume(ctx, v.ID); err != nil || found.Name != "pvc-1" || found.Capacity != gib || found.DatastoreURL != v.DatastoreURL {
		t.Errorf("volume: %+v, %v", found, err)
	}

	uuid, err := r.Attach(ctx, v.ID, n)
	r.must(err)
	is, _ := r.vc("us").Volume(v.ID)
	if uuid != names.Compact(is.DiskUUID) || len(uuid) != 32 {
		t.Errorf("disk UUID %q, the disk's is %q", uuid, is.DiskUUID)
	}
	if again, err := r.Attach(ctx, v.ID, n); err != nil || again != uuid {
		t.Errorf("attached again: %q, %v", again, err)
	}
	if err := r.Delete(ctx, v.ID); !errors.Is(err, volume.ErrInUse) {
		t.Errorf("deleted while attached: %v", err)
	}
	other := r.node("us", "vm-2")
	if _, err := r.Attach(ctx, v.ID, other); !errors.Is(err, volume.ErrInUse) || !strings.Contains(err.Error(), "attached to node vm-1") {
		t.Errorf("attached elsewhere: %v", err)
	}
	r.must(r.Detach(ctx, v.ID, other))
	if is, _ := r.vc("us").Volume(v.ID); is.VMName != "vm-1" {
		t.Errorf("is on %q after it was detached from another VM", is.VMName)
	}

	if size, err := r.Expand(ctx, v.ID, 2*gib-5); err != nil || size != 2*gib {
		t.Errorf("expanded to %d, %v", size, err)
	}
	if size, err := r.Expand(ctx, v.ID, gib); err != nil || size != 2*gib {
		t.Errorf("expanded to less: %d, %v", size, err)
	}

	r.must(r.Detach(ctx, v.ID, n))
	r.must(r.Detach(ctx, v.ID, n))
	if moved, err := r.Attach(ctx, v.ID, other); err != nil || moved != uuid {
		t.Errorf("attached elsewhere after all: %q, %v", moved, err)
	}
	r.must(r.Detach(ctx, v.ID, other))
	r.must(r.Delete(ctx, v.ID))
	r.must(r.Delete(ctx, v.ID))
	if _, err := r.Volume(ctx, v.ID); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("volume after its deletion: %v", err)
	}
	if left := r.vc("us").Volumes(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

// A missing object is reported, or counts as done.
func TestNotThere(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	n := r.node("us", "vm-1")
	const id = "7b6c1a2e-0000-4000-8000-000000000000"
	if _, err := r.Attach(ctx, id, n); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("attach: %v", err)
	}
	if _, err := r.Expand(ctx, id, gib); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("expand: %v", err)
	}
	if _, err := r.Snapshot(ctx, id, "s"); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("snapshot: %v", err)
	}
	if err := r.UpdateRecord(ctx, id, volume.Metadata{PV: "pv"}.Entities(), nil); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("metadata: %v", err)
	}
	if list, err := r.Snapshots(ctx, volume.SnapshotRef{Volume: id}); err != nil || len(list) != 0 {
		t.Errorf("snapshots: %v, %v", list, err)
	}
	r.must(r.Detach(ctx, id, n))
	r.must(r.DeleteSnapshot(ctx, volume.SnapshotRef{Volume: id, Snapshot: id}))
	r.must(r.Delete(ctx, id))

	v := r.create("us", "pvc-1")
	gone := n
	gone.VM = "vm-99999"
	if _, err := r.Attach(ctx, v.ID, gone); !errors.Is(err, volume.ErrNodeGone) {
		t.Errorf("attach to a VM that is gone: %v", err)
	}
	r.must(r.Detach(ctx, v.ID, gone))
	if _, err := r.Create(ctx, volume.Spec{Name: "x", Capacity: gib, Datastores: []volume.Datastore{{VCenter: "us", Ref: "datastore-9999", Name: "ds"}}}); !errors.Is(err, volume.ErrNoDatastore) {
		t.Errorf("create on a datastore that is gone: %v", err)
	}
}

// A volume whose VM is gone can be detached and then attached elsewhere, in each way that a VM may disappear.
func TestNodeGone(t *testing.T) {
	for _, tc := range []struct {
		name    string
		unknown bool // the node's VM is no longer known
	}{{"vm known", false}, {"vm unknown", true}} {
		t.Run(tc.name, func(t *testing.T) {
			r := start(t, one)
			ctx := t.Context()
			n, other := r.node("us", "vm-1"), r.node("us", "vm-2")
			v := r.create("us", "pvc-1")
			uuid, err := r.Attach(ctx, v.ID, n)
			r.must(err)
			m := object.NewVirtualMachine(r.lab.Client("us").Client, vmRef(n))
			for _, step := range []func() (*object.Task, error){
				func() (*object.Task, error) { return m.PowerOff(ctx) },
				func() (*object.Task, error) { return m.Destroy(ctx) },
			} {
				task, err := step()
				r.must(err)
				r.must(task.Wait(ctx))
			}
			before := r.calls("us")
			if tc.unknown {
				n.VM, n.VCenter = "", ""
			}
			r.must(r.Detach(ctx, v.ID, n))
			if _, by := r.since("us", before); !strings.Contains(by, "CnsDetachVolume:1") {
				t.Errorf("CNS was not told: %s", by)
			}
			if moved, err := r.Attach(ctx, v.ID, other); err != nil || moved != uuid {
				t.Errorf("attached elsewhere: %q, %v", moved, err)
			}
			// A volume can be detached from a deleted node, if no other node has it.
			for _, late := range []string{n.ID, "unknown"} {
				r.must(r.Detach(ctx, v.ID, volume.Node{ID: late}))
				if is, _ := r.vc("us").Volume(v.ID); is.VMName != "vm-2" {
					t.Errorf("detached from %s, it is on %q", late, is.VMName)
				}
			}
		})
	}
}

func TestExists(t *testing.T) {
	r := start(t, one)
	r.create("us", "pvc-1")
	larger := r.spec("us", "pvc-1")
	larger.Capacity = 2 * gib
	if _, err := r.Create(t.Context(), larger); !errors.Is(err, volume.ErrExists) {
		t.Errorf("same name, other size: %v", err)
	}
	if got := len(r.vc("us").Volumes()); got != 1 {
		t.Errorf("%d volumes", got)
	}
}

// CNS has lost a volume that a VM still has: it is not reported detached.
func TestDetachForgotten(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	n := r.node("us", "vm-1")
	v := r.create("us", "pvc-1")
	_, err := r.Attach(ctx, v.ID, n)
	r.must(err)
	r.must(r.vc("us").CNS().Forget(v.ID))
	if err := r.Detach(ctx, v.ID, n); !errors.Is(err, volume.ErrState) {
		t.Errorf("detach: %v", err)
	}
}
