package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// A call with a lost response may have started a task. It is not repeated while that task may run, because CNS does not list an
// object before its creation has ended.
func TestAnswerLost(t *testing.T) {
	r := start(t, one)
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
		heal := r.rule("us", gate.Rule{Match: gate.Match{Client: agent, Methods: []string{tc.method}}, Action: gate.Reset{Bytes: 1}})
		if err := tc.do(); !errors.Is(err, volume.ErrUnavailable) {
			t.Fatalf("%s: %v", tc.method, err)
		}
		heal()
		eventually(t, tc.method+" is seen to be under way", func() bool { return errors.Is(tc.do(), volume.ErrPending) })
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
