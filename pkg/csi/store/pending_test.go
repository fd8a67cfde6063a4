package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// patience is a timeout that no test reaches.
const patience = 20 * time.Second

// A call returns when its context ends, the operation continues, and a repeated call joins it.
func TestJoins(t *testing.T) {
	r := start(t, one)
	n := r.node("us", "vm-1")
	v := r.create("us", "pvc-1")
	undo := r.vc("us").CNS().Script(cns.Rule{Method: "CnsAttachVolume", Delay: time.Minute})
	defer undo()
	before := r.calls("us")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // long enough to start the operation
	defer cancel()
	_, err := r.Attach(ctx, v.ID, n)
	if !errors.Is(err, volume.ErrPending) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("attach: %v", err)
	}
	if d := r.Detach(ctx, v.ID, n); !errors.Is(d, volume.ErrPending) {
		t.Errorf("detach meanwhile: %v", d)
	}
	joined := make(chan error, 1)
	go func() {
		uuid, err := r.Attach(t.Context(), v.ID, n)
		if err == nil && uuid == "" {
			err = errors.New("no UUID")
		}
		joined <- err
	}()
	undo()
	select {
	case err := <-joined:
		r.must(err)
	case <-time.After(patience):
		t.Fatal("not attached")
	}
	if got := r.calls("us")["CnsAttachVolume"] - before["CnsAttachVolume"]; got > 1 {
		t.Errorf("CnsAttachVolume was called %d times", got)
	}
}

// A driver that ended during an operation finds it completed, or in progress, after a restart.
func TestRestart(t *testing.T) {
	r := start(t, one)
	n := r.node("us", "vm-1")
	v := r.create("us", "pvc-1")
	spec := r.spec("us", "pvc-2")
	undo := r.vc("us").CNS().Script(cns.Rule{Delay: time.Second})
	defer undo()
	begun := r.calls("us")
	ctx, cancel := context.WithCancel(t.Context())
	attached, created := make(chan error, 1), make(chan error, 1)
	go func() { _, err := r.Attach(ctx, v.ID, n); attached <- err }()
	go func() { _, err := r.Create(ctx, spec); created <- err }()
	eventually(t, "both are under way", func() bool {
		now := r.calls("us")
		return now["CnsAttachVolume"] > begun["CnsAttachVolume"] && now["CnsCreateVolume"] > begun["CnsCreateVolume"]
	})
	cancel()
	attachErr, createErr := <-attached, <-created
	if !errors.Is(attachErr, volume.ErrPending) || !errors.Is(createErr, volume.ErrPending) {
		t.Fatalf("attach: %v, create: %v", attachErr, createErr)
	}
	began := time.Now()
	r.Close()
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("closed after %s", d)
	}
	if _, err := r.Attach(t.Context(), v.ID, n); !errors.Is(err, volume.ErrUnavailable) {
		t.Errorf("attach after the end: %v", err)
	}

	next := r.open()
	uuid, err := next.Attach(t.Context(), v.ID, n)
	r.must(err)
	if uuid == "" {
		t.Error("no UUID")
	}
	eventually(t, "the volume of before is there", func() bool { return len(r.vc("us").Volumes()) == 2 })
	again, err := next.Create(t.Context(), spec)
	r.must(err)
	if all := r.vc("us").Volumes(); len(all) != 2 || again.Name != "pvc-2" {
		t.Errorf("%d volumes", len(all))
	}
}

// Tasks take time; one long poll waits for all of them, and the view does not grow.
func TestSlowTasks(t *testing.T) {
	r := start(t, one, func(o *store.Options) { o.TaskCheck = patience })
	ctx := t.Context()
	n := r.node("us", "vm-1")
	r.vc("us").SetSlowTasks(300 * time.Millisecond)
	v := r.create("us", "pvc-1")
	before := r.calls("us")
	for range 3 {
		_, err := r.Attach(ctx, v.ID, n)
		r.must(err)
		r.must(r.Detach(ctx, v.ID, n))
	}
	if n, by := r.since("us", before); n > 6*4 {
		t.Errorf("%d calls for 6 operations:%s", n, by)
	}
}
