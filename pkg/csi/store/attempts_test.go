package store_test

import (
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// A task of a canceled attempt that still runs in the vCenter is waited for, not started again.
func TestLeftBehind(t *testing.T) {
	r := start(t, one, func(o *store.Options) { o.OperationLimit = 300 * time.Millisecond })
	ctx := t.Context()
	v := r.create("us", "pvc-1")
	spec := r.spec("us", "pvc-2")
	for _, tc := range []struct {
		method string
		do     func() error
	}{
		{"CnsCreateVolume", func() error { _, err := r.Create(ctx, spec); return err }},
		{"CnsCreateSnapshots", func() error { _, err := r.Snapshot(ctx, v.ID, "snap"); return err }},
	} {
		before := r.calls("us")[tc.method]
		undo := r.vc("us").CNS().Script(cns.Rule{Method: tc.method, Delay: time.Minute})
		for range 3 {
			if err := tc.do(); err == nil || store.ErrorReason(err) != "timeout" {
				t.Errorf("%s: %v", tc.method, err)
			}
		}
		undo()
		eventually(t, tc.method+" is through", func() bool { return tc.do() == nil })
		if n := r.calls("us")[tc.method] - before; n != 1 {
			t.Errorf("%s was called %d times", tc.method, n)
		}
	}
	if all := r.vc("us").Volumes(); len(all) != 2 {
		t.Errorf("%d volumes", len(all))
	}
	taken, err := r.Snapshots(ctx, volume.SnapshotRef{Volume: v.ID})
	if err != nil || len(taken) != 1 {
		t.Errorf("%d snapshots, %v", len(taken), err)
	}
}

// A panic ends one operation, and nothing else.
func TestPanic(t *testing.T) {
	r := start(t, one)
	v, n, other := r.create("us", "pvc-1"), r.node("us", "vm-1"), r.node("us", "vm-2")
	_, err := r.Attach(t.Context(), v.ID, n)
	r.must(err)
	s := r.open(func(o *store.Options) { o.Nodes = func(string) ([]volume.Node, error) { panic("nobody expects it") } })
	if _, err := s.Attach(t.Context(), v.ID, other); err == nil || store.ErrorReason(err) != "error" {
		t.Errorf("attach: %v", err)
	}
	r.must(s.Detach(t.Context(), v.ID, n))
}
