package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// csi-attacher requests most attachments twice. The second request makes no call, unless the store has seen since that the VM does not
// have the disk, or has detached it.
func TestAttachTwice(t *testing.T) {
	r := start(t, one, unhurried)
	ctx, vc := t.Context(), r.vc("us")
	n, other := r.node("us", "vm-1"), r.node("us", "vm-2")
	id := r.create("us", "pvc-1").ID
	uuid, err := r.Attach(ctx, id, n)
	r.must(err)
	attach := func(what string, to volume.Node, called bool) {
		t.Helper()
		before := r.calls("us")
		again, err := r.Attach(ctx, id, to)
		r.must(err)
		if again != uuid {
			t.Errorf("%s: disk %q, before %q", what, again, uuid)
		}
		if calls, by := r.since("us", before); (calls > 0) != called {
			t.Errorf("%s: %d calls:%s", what, calls, by)
		}
		if is, _ := vc.Volume(id); is.VM.Value != to.VM {
			t.Errorf("%s: it is on %q", what, is.VMName)
		}
	}
	attach("at once", n, false)
	_, _, err = r.Volumes(ctx)
	r.must(err)
	attach("after a listing with it", n, false)
	r.must(vc.DetachVolume(ctx, id))
	_, _, err = r.Volumes(ctx)
	r.must(err)
	attach("after a listing without it", n, true)
	r.must(vc.DetachVolume(ctx, id))
	_, err = r.Attachments(ctx, id)
	r.must(err)
	attach("after a look without it", n, true)
	r.must(r.Detach(ctx, id, n))
	attach("after it was detached", n, true)
	r.must(r.Detach(ctx, id, n))
	attach("to another node", other, true)
}

// Updates of records that arrive during a call share the next one, and each has its own outcome.
func TestUpdatesShareCalls(t *testing.T) {
	r := start(t, one, unhurried)
	ctx := t.Context()
	const count = 30
	ids := make([]string, count)
	for i := range ids {
		ids[i] = r.create("us", fmt.Sprintf("pvc-%d", i)).ID
	}
	ids[7] = "no-such-volume"
	undo := r.vc("us").CNS().Script(cns.Rule{Method: method, Delay: 200 * time.Millisecond})
	before, errs := r.calls("us")[method], make([]error, count)
	all(count, func(i int) {
		errs[i] = r.UpdateRecord(ctx, ids[i], volume.Metadata{PV: fmt.Sprint("pv-", i)}.Entities(), nil)
	})
	undo()
	if calls := r.calls("us")[method] - before; calls > 5 {
		t.Errorf("%d calls for %d records", calls, count)
	}
	for i, err := range errs {
		if i == 7 {
			if err == nil || !strings.Contains(err.Error(), volume.ErrNotFound.Error()) {
				t.Errorf("of a volume that does not exist: %v", err)
			}
			continue
		}
		r.must(err)
	}
	records, err := r.Records(ctx)
	r.must(err)
	named := 0
	for _, record := range records {
		if len(record.Entities) == 1 {
			named++
		}
	}
	if named != count-1 {
		t.Errorf("%d records have their object: %+v", named, records)
	}
}

const method = "CnsUpdateVolumeMetadata"

// One update that vCenter refuses together with others does not hold those up.
func TestUpdatesRefusedTogether(t *testing.T) {
	r := start(t, one, unhurried)
	const count = 8
	ids := make([]string, count)
	for i := range ids {
		ids[i] = r.create("us", fmt.Sprintf("pvc-%d", i)).ID
	}
	slow := r.vc("us").CNS().Script(cns.Rule{Method: method, Delay: 100 * time.Millisecond})
	errs := make([]error, count)
	all(count, func(i int) {
		key := "k"
		if i == 3 {
			key = strings.Repeat("k", 400) // CNS refuses it
		}
		errs[i] = r.UpdateRecord(t.Context(), ids[i], []volume.Entity{{
			EntityRef: volume.EntityRef{Kind: volume.PV, Name: fmt.Sprint("pv-", i)}, Labels: map[string]string{key: "v"},
		}}, nil)
	})
	slow()
	for i, err := range errs {
		if (err != nil) != (i == 3) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// Unregister removes a volume from CNS and keeps its disk, which can become a volume again.
func TestUnregister(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	v, n := r.create("us", "pvc-1"), r.node("us", "vm-1")
	_, err := r.Attach(ctx, v.ID, n)
	r.must(err)
	if err := r.Unregister(ctx, v.ID); err == nil {
		t.Error("an attached volume was removed from CNS")
	}
	r.must(r.Detach(ctx, v.ID, n))
	r.must(r.Unregister(ctx, v.ID))
	r.must(r.Unregister(ctx, v.ID))
	if _, ok := r.vc("us").Volume(v.ID); ok {
		t.Error("CNS has the volume")
	}
	again, err := r.Adopt(ctx, v.ID, "pvc-1", nil)
	r.must(err)
	if again.ID != v.ID || again.Capacity != v.Capacity {
		t.Errorf("before %+v, now %+v", v, again)
	}
}
