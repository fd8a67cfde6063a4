package cns_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// snapshots is CnsQuerySnapshots.
func (s *server) snapshots(t testing.TB, f cnstypes.CnsSnapshotQueryFilter) cnstypes.CnsSnapshotQueryResult {
	t.Helper()
	task, err := s.cns.QuerySnapshots(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, ok := info.Result.(cnstypes.CnsSnapshotQueryResult)
	if !ok {
		t.Fatalf("result is a %T", info.Result)
	}
	return r
}

// of asks for the snapshots of a volume, or for one.
func of(volume string, snapshot ...string) cnstypes.CnsSnapshotQueryFilter {
	q := cnstypes.CnsSnapshotQuerySpec{VolumeId: cnstypes.CnsVolumeId{Id: volume}}
	if len(snapshot) > 0 {
		q.SnapshotId = &cnstypes.CnsSnapshotId{Id: snapshot[0]}
	}
	return cnstypes.CnsSnapshotQueryFilter{SnapshotQuerySpecs: []cnstypes.CnsSnapshotQuerySpec{q}}
}

func descriptions(entries []cnstypes.CnsSnapshotQueryResultEntry) (list []string) {
	for _, e := range entries {
		list = append(list, e.Snapshot.Description)
	}
	return list
}

func TestSnapshots(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := serve(t, 1, cns.Options{Now: func() time.Time { return now }})
	a, b := s.create(t, spec("a", "one", 64)), s.create(t, spec("b", "one", 64))
	fine(t, s.attach(t, a, s.vms[0])) // a volume in use has snapshots too
	var ids []string
	for i, volume := range []string{a, a, b} {
		r, ok := s.snapshot(t, volume, fmt.Sprintf("s%d", i)).(*cnstypes.CnsSnapshotCreateResult)
		if !ok || r.Fault != nil || r.Snapshot.VolumeId.Id != volume || !r.Snapshot.CreateTime.Equal(now) || r.Snapshot.SnapshotId.Id == "" {
			t.Fatalf("%+v", r)
		}
		ids = append(ids, r.Snapshot.SnapshotId.Id)
	}
	refusedWith[*types.NotFound](t, s.snapshot(t, "none", "x"))

	all := s.snapshots(t, cnstypes.CnsSnapshotQueryFilter{Cursor: &cnstypes.CnsCursor{Limit: 2}})
	if diff := cmp.Diff([]string{"s0", "s1"}, descriptions(all.Entries)); diff != "" || all.Cursor.TotalRecords != 3 || all.Cursor.Offset != 2 {
		t.Errorf("first page: %s %+v", diff, all.Cursor)
	}
	all = s.snapshots(t, cnstypes.CnsSnapshotQueryFilter{Cursor: &all.Cursor})
	if diff := cmp.Diff([]string{"s2"}, descriptions(all.Entries)); diff != "" || all.Cursor.Offset != 3 {
		t.Errorf("second page: %s %+v", diff, all.Cursor)
	}
	if diff := cmp.Diff([]string{"s0", "s1"}, descriptions(s.snapshots(t, of(a)).Entries)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"s1"}, descriptions(s.snapshots(t, of(a, ids[1])).Entries)); diff != "" {
		t.Error(diff)
	}
	for _, f := range []cnstypes.CnsSnapshotQueryFilter{of("none"), of(a, ids[2])} {
		e := s.snapshots(t, f).Entries
		if len(e) != 1 || e[0].Error == nil {
			t.Fatalf("%+v", e)
		}
		switch e[0].Error.Fault.(type) {
		case *cnstypes.CnsVolumeNotFoundFault, *cnstypes.CnsSnapshotNotFoundFault:
		default:
			t.Errorf("%T", e[0].Error.Fault)
		}
	}

	// vSLM shows the same.
	mirror := func() (list []string) {
		t.Helper()
		info, err := vslm.NewObjectManager(s.vim).RetrieveSnapshotInfo(t.Context(), s.datastore(t, a), a)
		if err != nil {
			t.Fatal(err)
		}
		for _, is := range info.Snapshots {
			list = append(list, is.Id.Id)
		}
		return list
	}
	if diff := cmp.Diff(ids[:2], mirror()); diff != "" {
		t.Errorf("vSLM (-want +got):\n%s", diff)
	}

	fine(t, s.deleteSnapshot(t, a, ids[0]))
	refusedWith[*types.NotFound](t, s.deleteSnapshot(t, a, ids[0]))
	refusedWith[*types.NotFound](t, s.deleteSnapshot(t, "none", ids[0]))
	if diff := cmp.Diff(ids[1:2], mirror()); diff != "" {
		t.Errorf("vSLM (-want +got):\n%s", diff)
	}
	r := s.snapshot(t, a, "again").(*cnstypes.CnsSnapshotCreateResult)
	if r.Snapshot.SnapshotId.Id == ids[0] || r.Snapshot.SnapshotId.Id == ids[1] {
		t.Error("an id was given twice")
	}

	for len(s.snapshots(t, of(b)).Entries) < cns.MaxSnapshots {
		fine(t, s.snapshot(t, b, "more"))
	}
	refusedWith[*cnstypes.CnsFault](t, s.snapshot(t, b, "one too many"))
}

// aggregated is what a volume's snapshots take together, MiB.
func aggregated(t testing.TB, s *server, id string) int64 {
	t.Helper()
	v := s.query(t, &cnstypes.CnsQueryFilter{VolumeIds: []cnstypes.CnsVolumeId{{Id: id}}}).Volumes[0]
	return v.BackingObjectDetails.(*cnstypes.CnsBlockBackingDetails).AggregatedSnapshotCapacityInMb
}

// TestSnapshotContent restores what a volume held when its snapshot was taken.
func TestSnapshotContent(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, 1, cns.Options{Dir: dir})
	id := s.create(t, spec("a", "one", 64))
	d := must[*disk.Disk](t)(disk.Open(s.Dir(id)))
	must[disk.FileSystem](t)(d.Format("ext4"))
	file := filepath.Join(d.Data(), "file")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(strings.Repeat("before", 1<<18)) // 1.5 MiB
	r := s.snapshot(t, id, "s").(*cnstypes.CnsSnapshotCreateResult)
	fine(t, r)
	if mb := aggregated(t, s, id); mb != 2 || r.AggregatedSnapshotCapacityInMb != 2 {
		t.Errorf("the snapshot takes %d MiB, its result says %d", mb, r.AggregatedSnapshotCapacityInMb)
	}
	write("after")
	sp := spec("restored", "one", 64)
	sp.VolumeSource = &cnstypes.CnsSnapshotVolumeSource{VolumeId: r.VolumeId, SnapshotId: r.Snapshot.SnapshotId}
	restored := must[*disk.Disk](t)(disk.Open(s.Dir(s.create(t, sp))))
	if got := must[[]byte](t)(os.ReadFile(filepath.Join(restored.Data(), "file"))); !strings.HasPrefix(string(got), "before") {
		t.Errorf("restored %.20q", got)
	}
	fine(t, s.deleteSnapshot(t, id, r.Snapshot.SnapshotId.Id))
	if mb := aggregated(t, s, id); mb != 0 {
		t.Errorf("no snapshot takes %d MiB", mb)
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(dir)); len(left) != 2 {
		t.Errorf("%v is left, want two volumes", left)
	}
}
