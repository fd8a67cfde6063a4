package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

func TestSnapshots(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	v, other := r.create("us", "pvc-1"), r.create("us", "pvc-2")
	var taken []volume.Snapshot
	for i := range 3 {
		s, err := r.Snapshot(ctx, v.ID, fmt.Sprintf("snap-%d", i))
		r.must(err)
		if s.Volume != v.ID || s.Snapshot == "" || s.VCenter != "us" || s.Capacity != gib || s.Created.IsZero() || s.Description != fmt.Sprintf("snap-%d", i) {
			t.Errorf("taken: %+v", s)
		}
		taken = append(taken, s)
	}
	if again, err := r.Snapshot(ctx, v.ID, "snap-1"); err != nil || again.SnapshotRef != taken[1].SnapshotRef {
		t.Errorf("taken again: %+v, %v", again, err)
	}
	if _, err := r.Snapshot(ctx, v.ID, "snap-3"); !errors.Is(err, volume.ErrLimit) {
		t.Errorf("a fourth: %v", err)
	}
	r.SetSnapshotLimit(4)
	_, err := r.Snapshot(ctx, v.ID, "snap-3")
	r.must(err)
	_, err = r.Snapshot(ctx, other.ID, "snap-0") // names are unique only per volume
	r.must(err)

	for name, tc := range map[string]struct {
		of   volume.SnapshotRef
		want int
	}{
		"all":          {volume.SnapshotRef{}, 5},
		"of one":       {volume.SnapshotRef{Volume: v.ID}, 4},
		"one":          {taken[0].SnapshotRef, 1},
		"none":         {volume.SnapshotRef{Volume: other.ID, Snapshot: taken[0].Snapshot}, 0},
		"not a volume": {volume.SnapshotRef{Volume: "x", Snapshot: "y"}, 0},
	} {
		list, err := r.Snapshots(ctx, tc.of)
		if err != nil || len(list) != tc.want {
			t.Errorf("%s: %d, %v", name, len(list), err)
		}
		for i := 1; i < len(list); i++ {
			if list[i-1].Volume > list[i].Volume || list[i-1].Volume == list[i].Volume && list[i-1].Snapshot >= list[i].Snapshot {
				t.Errorf("%s: out of order: %v", name, list)
			}
		}
	}
	if list, _ := r.Snapshots(ctx, taken[0].SnapshotRef); len(list) == 1 && cmp.Diff(taken[0], list[0]) != "" {
		t.Error(cmp.Diff(taken[0], list[0]))
	}
	small := r.open(func(o *store.Options) { o.Page = 2 })
	if list, err := small.Snapshots(ctx, volume.SnapshotRef{}); err != nil || len(list) != 5 {
		t.Errorf("by pages: %d, %v", len(list), err)
	}

	if err := r.Delete(ctx, v.ID); !errors.Is(err, volume.ErrSnapshots) {
		t.Errorf("deleted with snapshots: %v", err)
	}
	if _, err := r.Expand(ctx, v.ID, 2*gib); !errors.Is(err, volume.ErrSnapshots) {
		t.Errorf("expanded with snapshots: %v", err)
	}

	restored := r.spec("us", "pvc-restored")
	restored.Snapshot = taken[0].SnapshotRef
	w, err := r.Create(ctx, restored)
	r.must(err)
	if w.ID == v.ID || w.Capacity != gib {
		t.Errorf("restored: %+v", w)
	}
	lost := r.spec("us", "pvc-lost")
	lost.Snapshot = volume.SnapshotRef{Volume: v.ID, Snapshot: "00000000-0000-4000-8000-000000000000"}
	if _, err := r.Create(ctx, lost); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("restored from nothing: %v", err)
	}

	list, err := r.Snapshots(ctx, volume.SnapshotRef{Volume: v.ID})
	r.must(err)
	for _, s := range list {
		r.must(r.DeleteSnapshot(ctx, s.SnapshotRef))
		r.must(r.DeleteSnapshot(ctx, s.SnapshotRef))
	}
	_, err = r.Expand(ctx, v.ID, 2*gib)
	r.must(err)
	r.must(r.Delete(ctx, v.ID))
}
