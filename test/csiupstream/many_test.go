package csiupstream

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sync/errgroup"
)

// TestMany: forty volumes at once, as the sidecars' workers have them. The driver adds tasks to a view that it waits on
// and takes them away, which in vcsim is a deadlock sooner or later.
func TestMany(t *testing.T) {
	w := start(t, oneVCenter)
	const volumes = 40
	ids, disks := make([]string, volumes), make([]string, volumes)
	machines := w.Machines()
	began := time.Now()
	each := func(what string, do func(ctx context.Context, i int) error) {
		t.Helper()
		since := time.Now()
		g, ctx := errgroup.WithContext(t.Context())
		for i := range volumes {
			g.Go(func() error {
				ctx, cancel := context.WithTimeout(ctx, callFor)
				defer cancel()
				if err := do(ctx, i); err != nil {
					return fmt.Errorf("%s volume %d: %w", what, i, err)
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", what, time.Since(since).Round(time.Millisecond))
	}
	each("create", func(ctx context.Context, i int) error {
		m := machines[i%len(machines)]
		res, err := w.csi.CreateVolume(ctx, volumeRequest(fmt.Sprintf("pvc-%d", i), gib, within(m.Region, m.Zone)))
		ids[i] = res.GetVolume().GetVolumeId()
		return err
	})
	each("attach", func(_ context.Context, i int) (err error) {
		published, err := w.attach(ids[i], machines[i%len(machines)])
		disks[i] = published["diskUUID"]
		return err
	})
	seen := map[string]bool{}
	for i, m := range machines {
		on := w.disks(m)
		for j := i; j < volumes; j += len(machines) {
			if on[ids[j]].uuid != disks[j] || seen[disks[j]] {
				t.Errorf("volume %d is disk %s of %s, want %s; seen before: %v", j, on[ids[j]].uuid, m.Name, disks[j], seen[disks[j]])
			}
			seen[disks[j]] = true
		}
		if want := volumes / len(machines); len(on) != want {
			t.Errorf("%s has %d volumes, want %d", m.Name, len(on), want)
		}
	}
	each("expand", func(_ context.Context, i int) error { return w.expand(ids[i], 2*gib) })
	each("detach", func(ctx context.Context, i int) error {
		_, err := w.csi.ControllerUnpublishVolume(ctx, &csi.ControllerUnpublishVolumeRequest{VolumeId: ids[i], NodeId: machines[i%len(machines)].UUID})
		return err
	})
	each("delete", func(_ context.Context, i int) error { return w.delete(ids[i]) })
	if left := w.listed(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	t.Logf("%d volumes in %s; vCenter calls: %s", volumes, time.Since(began).Round(time.Millisecond), strings.TrimPrefix(fmt.Sprint(w.calls()), "map"))
}
