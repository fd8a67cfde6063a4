package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// unhurried lets tasks be quiet for a minute: a busy machine can take longer for one than the rig's two seconds, and then the store
// reads it directly, which is a call more.
func unhurried(o *store.Options) { o.TaskCheck = time.Minute }

// The calls of operations after the session has a view of tasks.
func TestCalls(t *testing.T) {
	r := start(t, one, unhurried)
	ctx := t.Context()
	n := r.node("us", "vm-1")
	var ids []string
	for i := range 6 {
		ids = append(ids, r.create("us", fmt.Sprintf("pvc-%d", i)).ID)
	}
	spec := r.spec("us", "pvc-new")
	for _, tc := range []struct {
		name string
		most int64
		do   func() error
	}{
		{"attach", 3, func() error { _, err := r.Attach(ctx, ids[0], n); return err }},
		{"attach again", 0, func() error { _, err := r.Attach(ctx, ids[0], n); return err }},
		{"detach", 3, func() error { return r.Detach(ctx, ids[0], n) }},
		{"create: one look for an earlier one", 4, func() error { _, err := r.Create(ctx, spec); return err }},
		{"create again", 1, func() error { _, err := r.Create(ctx, spec); return err }},
		{"expand", 4, func() error { _, err := r.Expand(ctx, ids[1], 2*gib); return err }},
		{"delete", 3, func() error { return r.Delete(ctx, ids[1]) }},
		{"list: a page, and the devices of the nodes", 2, func() error { _, _, err := r.Volumes(ctx); return err }},
		{"metadata", 3, func() error { return r.UpdateRecord(ctx, ids[2], volume.Metadata{PV: "pv-2"}.Entities(), nil) }},
		{"records", 1, func() error { _, err := r.Records(ctx); return err }},
		{"nothing, when there is nothing to do", 0, func() error { time.Sleep(50 * time.Millisecond); return nil }},
	} {
		before := r.calls("us")
		if err := tc.do(); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		n, by := r.since("us", before)
		if polls := r.calls("us")["WaitForUpdatesEx"] - before["WaitForUpdatesEx"]; polls > 1 {
			n -= polls - 1 // the task took longer on a busy machine
		}
		if n > tc.most {
			t.Errorf("%s: %d calls, at most %d:%s", tc.name, n, tc.most, by)
		}
	}
}

// Fifty concurrent attachments, on one VM and on several, share calls; each has its own disk.
func TestConcurrent(t *testing.T) {
	for _, vms := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d VMs", vms), func(t *testing.T) {
			r := start(t, one, unhurried)
			ctx := t.Context()
			const count = 50
			var nodes []volume.Node
			for i := range vms {
				nodes = append(nodes, r.node("us", fmt.Sprintf("vm-%d", i+1)))
			}
			spec := r.spec("us", "")
			ids, uuids := make([]string, count), make([]string, count)
			all(count, func(i int) {
				s := spec
				s.Name, s.Capacity = fmt.Sprintf("pvc-%d", i), 1<<20
				v, err := r.Create(ctx, s)
				if err != nil {
					t.Error(err)
				}
				ids[i] = v.ID
			})
			before := r.calls("us")
			all(count, func(i int) {
				var err error
				if uuids[i], err = r.Attach(ctx, ids[i], nodes[i%vms]); err != nil {
					t.Error(err)
				}
			})
			if n, by := r.since("us", before); n > 3*count {
				t.Errorf("%d calls for %d attachments:%s", n, count, by)
			}
			seen := map[string]bool{}
			for i, id := range ids {
				is, _ := r.vc("us").Volume(id)
				if is.VM.Value != nodes[i%vms].VM || uuids[i] == "" || seen[uuids[i]] {
					t.Errorf("volume %s is on %q as %q", id, is.VMName, uuids[i])
				}
				seen[uuids[i]] = true
			}
			if listed, attached, err := r.Volumes(ctx); err != nil || len(listed) != count || len(attached) != count {
				t.Errorf("%d volumes, %d attached, %v", len(listed), len(attached), err)
			}
			all(count, func(i int) {
				if err := r.Detach(ctx, ids[i], nodes[i%vms]); err != nil {
					t.Error(err)
				}
			})
			all(count, func(i int) {
				if err := r.Delete(ctx, ids[i]); err != nil {
					t.Error(err)
				}
			})
			if left := r.vc("us").Volumes(); len(left) != 0 {
				t.Errorf("%d volumes left", len(left))
			}
		})
	}
}

// Identical concurrent calls get the same result, created once.
func TestConcurrentSame(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	n := r.node("us", "vm-1")
	spec := r.spec("us", "pvc")
	ids, uuids := make([]string, 20), make([]string, 20)
	all(len(ids), func(i int) {
		v, err := r.Create(ctx, spec)
		if err != nil {
			t.Error(err)
			return
		}
		ids[i] = v.ID
		if uuids[i], err = r.Attach(ctx, v.ID, n); err != nil {
			t.Error(err)
		}
	})
	for i := range ids {
		if ids[i] != ids[0] || uuids[i] != uuids[0] || uuids[i] == "" {
			t.Errorf("%q as %q, and %q as %q", ids[i], uuids[i], ids[0], uuids[0])
		}
	}
	if got := len(r.vc("us").Volumes()); got != 1 {
		t.Errorf("%d volumes", got)
	}
}

func all(n int, f func(int)) {
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { f(i) })
	}
	running.Wait()
}
