package guest_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

var firstBoot = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// vm returns a VM whose guest has booted; edits may change it first.
func vm(edits ...func(*node.VM)) node.VM {
	m := node.VM{
		Exists: true, Power: node.On, BootTime: firstBoot, GuestUp: true, Hostname: "worker-1",
		UUID: "42000000-0000-4000-8000-000000000001", CPUs: 2, MemoryBytes: 4 << 30,
	}
	for _, edit := range edits {
		edit(&m)
	}
	return m
}

const anotherUUID = "42000000-0000-4000-8000-000000000002"

func off(m *node.VM) {
	m.Power, m.BootTime, m.GuestUp, m.Hostname = node.Off, time.Time{}, false, ""
}
func suspended(m *node.VM)   { m.Power = node.Suspended }
func destroyed(m *node.VM)   { m.Exists = false }
func toolsDown(m *node.VM)   { m.GuestUp = false }
func another(m *node.VM)     { m.UUID = anotherUUID }
func bootedAgain(m *node.VM) { m.BootTime = firstBoot.Add(time.Minute) }

// rig is a machine under test in a bubble.
type rig struct {
	*guest.Guest
	*fake
	t     *testing.T
	disks *fakeDisks

	mu      sync.Mutex
	changes []child.Change
	notices []string
	addrs   []netip.Addr

	identity     string // the UUID that the container was last started with
	unidentified error
	keep         bool
}

// inBubble runs a test of a machine whose container has that status, and ends it.
func inBubble(t *testing.T, status string, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{fake: newFake(status), t: t, disks: &fakeDisks{by: map[string]string{}}}
		watch := guest.NewWatch(r.fake, "cluster", "c")
		ctx, quit := context.WithCancel(context.Background())
		go watch.Run(ctx)
		m, err := guest.New(guest.Options{
			Name: "w1", Container: "c1", Runtime: r.fake, Watch: watch, Disks: r.disks, ByID: "/by-id",
			Notify: func(c child.Change) { r.locked(func() { r.changes = append(r.changes, c) }) },
			Notice: func(err error) { r.locked(func() { r.notices = append(r.notices, err.Error()) }) },
			Identify: func(m node.VM) error {
				r.locked(func() { r.identity = m.UUID })
				return r.unidentified
			},
			Keep: func() (keep bool) {
				r.locked(func() { keep = r.keep })
				return keep
			},
			OnAddress: func(a netip.Addr) {
				r.locked(func() { r.addrs = append(r.addrs, a) })
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Guest = m
		test(r)
		if err := m.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		quit()
		synctest.Wait()
	})
}

func (r *rig) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// sees observes a VM and waits until all is quiet.
func (r *rig) sees(edits ...func(*node.VM)) {
	r.t.Helper()
	r.Observe(vm(edits...))
	synctest.Wait()
}

// after lets time pass.
func (r *rig) after(d time.Duration) {
	time.Sleep(d) // of the bubble: it costs nothing
	synctest.Wait()
}

// require compares the calls, the container's status, and the reported state.
func (r *rig) require(status string, want node.Process, calls ...string) {
	r.t.Helper()
	if got := slices.DeleteFunc(r.takeCalls(), func(c string) bool { return c == "exec" }); !slices.Equal(got, calls) {
		r.t.Errorf("calls %q, want %q", got, calls)
	}
	p, pid, _ := r.State()
	if is := r.is(); is != status || p != want || (pid != 0) != (is == "running" || is == "paused") {
		r.t.Errorf("container is %q, machine %q with PID %d, want %q, %q", is, p, pid, status, want)
	}
}

// requireChanges compares the changes since the last call.
func (r *rig) requireChanges(want ...child.State) []child.Change {
	r.t.Helper()
	var all []child.Change
	r.locked(func() { all, r.changes = r.changes, nil })
	var got []child.State
	for _, c := range all {
		got = append(got, c.State)
		if c.Name != "node/w1" {
			r.t.Errorf("change of %q", c.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("changes (-want +got):\n%s", diff)
	}
	return all
}

// noticed wants one notice with those words since the last time; none, when there are no words.
func (r *rig) noticed(words string) {
	r.t.Helper()
	var all []string
	r.locked(func() { all, r.notices = r.notices, nil })
	switch {
	case words == "" && len(all) > 0:
		r.t.Errorf("notices %q", all)
	case words != "" && (len(all) != 1 || !strings.Contains(all[0], words)):
		r.t.Errorf("notices %q, want one of %q", all, words)
	}
}

// fakeDisks is Disks in memory.
type fakeDisks struct {
	mu    sync.Mutex
	by    map[string]string // folder by volume
	fails bool
	slow  time.Duration // a disk takes that long to be plugged
}

var errNoDevice = errors.New("no device is free")

func (s *fakeDisks) do(change func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return errNoDevice
	}
	if change != nil {
		change()
	}
	return nil
}

func (s *fakeDisks) Plug(_ context.Context, folder string, d node.Disk) error {
	s.mu.Lock()
	slow := s.slow
	s.mu.Unlock()
	time.Sleep(slow) // of the bubble
	return s.do(func() { s.by[d.VolumeID] = folder })
}

func (s *fakeDisks) Unplug(_ context.Context, _ string, d node.Disk) error {
	return s.do(func() { delete(s.by, d.VolumeID) })
}

func (s *fakeDisks) Resize(_ context.Context, d node.Disk) error { return s.do(nil) }
func (s *fakeDisks) Flush(_ context.Context, d node.Disk) error  { return s.do(nil) }
func (*fakeDisks) Prepare() string                               { return "prepare" }
func (*fakeDisks) Check(d node.Disk) []string                    { return []string{"check", d.UUID} }

func (s *fakeDisks) has() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for id := range s.by {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

func (s *fakeDisks) failing(fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = fails
}

// Stop is the Guest's.
func (r *rig) Stop(ctx context.Context) error { return r.Guest.Stop(ctx) }
