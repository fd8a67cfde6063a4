package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// A vCenter that is down affects only its own volumes.
func TestOneDown(t *testing.T) {
	r := start(t, two)
	ctx := t.Context()
	us, eu := r.create("us", "pvc-us"), r.create("eu", "pvc-eu")
	nus, neu := r.node("us", "vm-1"), r.node("eu", "vm-1")
	_, err := r.Attach(ctx, us.ID, nus)
	r.must(err)
	spec := r.spec("us", "pvc-3")
	r.gate("eu", gate.Down)
	eventually(t, "eu is lost", func() bool { return !r.clients[1].State().Connected || r.poke(1) })

	for what, f := range map[string]func() error{
		"volume":      func() error { _, err := r.Volume(ctx, eu.ID); return err },
		"attach":      func() error { _, err := r.Attach(ctx, eu.ID, neu); return err },
		"detach":      func() error { return r.Detach(ctx, eu.ID, neu) },
		"delete":      func() error { return r.Delete(ctx, eu.ID) },
		"attachments": func() error { _, err := r.Attachments(ctx, eu.ID); return err },
		"unknown volume": func() error {
			_, err := r.Volume(ctx, "7b6c1a2e-0000-4000-8000-000000000000")
			return err
		},
	} {
		if err := f(); !errors.Is(err, volume.ErrUnavailable) {
			t.Errorf("%s at the one that is down: %v", what, err)
		}
	}
	for what, f := range map[string]func() error{
		"volume":      func() error { _, err := r.Volume(ctx, us.ID); return err },
		"attach":      func() error { _, err := r.Attach(ctx, us.ID, nus); return err },
		"detach":      func() error { return r.Detach(ctx, us.ID, nus) },
		"create":      func() error { _, err := r.Create(ctx, spec); return err },
		"expand":      func() error { _, err := r.Expand(ctx, us.ID, 2*gib); return err },
		"attachments": func() error { _, err := r.Attachments(ctx, us.ID); return err },
	} {
		began := time.Now()
		if err := f(); err != nil {
			t.Errorf("%s at the other: %v", what, err)
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("%s at the other took %s", what, d)
		}
	}
	listed, _, err := r.Volumes(ctx)
	if len(listed) != 2 || !errors.Is(err, volume.ErrUnavailable) {
		t.Errorf("%d volumes, %v", len(listed), err)
	}

	r.gate("eu", gate.Up)
	eventually(t, "eu is back", func() bool { _, err := r.Attach(ctx, eu.ID, neu); return err == nil })
	if listed, attached, err := r.Volumes(ctx); len(listed) != 3 || len(attached) != 1 && len(attached) != 2 || err != nil {
		t.Errorf("%d volumes, %d attached, %v", len(listed), len(attached), err)
	}
}

// poke makes a connection notice that its vCenter is gone.
func (r *rig) poke(i int) bool {
	_, _ = r.Volume(r.t.Context(), fmt.Sprintf("poke-%d", i))
	return false
}

// A volume in another vCenter than the node's cannot be attached there, and the error has the reason.
func TestOtherVCenter(t *testing.T) {
	r := start(t, two)
	v := r.create("eu", "pvc-eu")
	if _, err := r.Attach(t.Context(), v.ID, r.node("us", "vm-1")); !errors.Is(err, volume.ErrState) {
		t.Errorf("attach: %v", err)
	}
	r.must(r.open().Delete(t.Context(), v.ID)) // by a store without a cache
	if left := r.vc("eu").Volumes(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// The password changes, all sessions end, and calls fail from time to time while volumes are attached and detached: no operation is
// lost.
func TestRotation(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	nodes := []volume.Node{r.node("us", "vm-1"), r.node("us", "vm-2")}
	var ids []string
	for i := range 8 {
		ids = append(ids, r.create("us", fmt.Sprintf("pvc-%d", i)).ID)
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
			password := fmt.Sprintf("secret-%d", i)
			r.mu.Lock()
			r.password["us"] = password
			r.mu.Unlock()
			if err := r.vc("us").SetPassword(password); err != nil {
				t.Error(err)
			}
			r.clients[0].CredentialsChanged()
			if i%2 == 0 {
				r.vc("us").EndSessions("")
			}
		}
	}()
	all(len(ids), func(i int) {
		for round := 0; round < 6 || r.clients[0].State().Rotations < 2 && !t.Failed(); round++ {
			n := nodes[(i+round)%2]
			retried(t, func() error { _, err := r.Attach(ctx, ids[i], n); return err })
			retried(t, func() error { return r.Detach(ctx, ids[i], n) })
		}
	})
	close(stop)
	<-done
	for _, id := range ids {
		if is, _ := r.vc("us").Volume(id); is.VMName != "" {
			t.Errorf("volume %s is on %s", id, is.VMName)
		}
	}
}

// retried retries as a sidecar does.
func retried(t *testing.T, f func() error) {
	t.Helper()
	var err error
	for range 200 {
		if err = f(); err == nil {
			return
		}
		if !errors.Is(err, volume.ErrUnavailable) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error(err)
}

// If the poll hangs, fails, or is not available, tasks are read directly a little later.
func TestPollFails(t *testing.T) {
	for _, tc := range []struct {
		name   string
		method string
		action gate.Action
	}{
		{"poll hangs", "WaitForUpdatesEx", gate.Hang{}},
		{"poll is cut", "WaitForUpdatesEx", gate.Reset{Bytes: 1}},
		{"poll is refused", "WaitForUpdatesEx", gate.Fault{Type: "RuntimeFault"}},
		{"view cannot change", "ModifyListView", gate.Fault{Type: "RuntimeFault"}},
		{"no view", "CreateListView", gate.Fault{Type: "RuntimeFault"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := start(t, one, func(o *store.Options) { o.TaskCheck = 200 * time.Millisecond })
			ctx := t.Context()
			n := r.node("us", "vm-1")
			v := r.create("us", "pvc-1")
			heal := r.rule("us", gate.Rule{Match: gate.Match{Client: agent, Methods: []string{tc.method}}, Action: tc.action})
			s := r.Store
			if tc.method == "CreateListView" {
				s = r.open(func(o *store.Options) { o.TaskCheck = 200 * time.Millisecond })
			}
			for range 2 {
				began := time.Now()
				retried(t, func() error { _, err := s.Attach(ctx, v.ID, n); return err })
				retried(t, func() error { return s.Detach(ctx, v.ID, n) })
				if d := time.Since(began); d > 10*time.Second {
					t.Errorf("took %s", d)
				}
			}
			heal()
			retried(t, func() error { _, err := s.Attach(ctx, v.ID, n); return err })
		})
	}
}

// A volume of a vCenter that is no longer configured is not gone.
func TestVCenterRemoved(t *testing.T) {
	r := start(t, two)
	ctx := t.Context()
	v := r.create("eu", "pvc-eu")
	r.Set(r.clients[:1])
	if _, err := r.Volume(ctx, v.ID); !errors.Is(err, volume.ErrUnavailable) || errors.Is(err, volume.ErrNotFound) {
		t.Errorf("volume: %v", err)
	}
	if err := r.Delete(ctx, v.ID); !errors.Is(err, volume.ErrUnavailable) {
		t.Errorf("delete: %v", err)
	}
	if listed, _, err := r.Volumes(ctx); err != nil || len(listed) != 0 {
		t.Errorf("%d volumes, %v", len(listed), err)
	}
	r.Set(r.clients)
	r.must(r.Delete(ctx, v.ID))
	r.must(r.Delete(ctx, v.ID))
}
