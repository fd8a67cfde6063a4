package node_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// The life cycle of any guest: events of its VM and of itself, and the next action.
func TestLife(t *testing.T) {
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	second := first.Add(time.Hour)
	running := node.VM{Exists: true, Power: node.On, GuestUp: true, BootTime: first}
	with := func(change func(*node.VM)) node.VM {
		m := running
		change(&m)
		return m
	}
	poweredOff := with(func(m *node.VM) { m.Power = node.Off; m.GuestUp = false })
	suspended := with(func(m *node.VM) { m.Power = node.Suspended })
	booting := with(func(m *node.VM) { m.GuestUp = false; m.BootTime = second })
	reset := with(func(m *node.VM) { m.BootTime = second })
	unknown := with(func(m *node.VM) { m.BootTime = time.Time{} })
	type step = func(*node.Life)
	sees := func(m node.VM) step { return func(l *node.Life) { l.Observe(m) } }
	hang := func(l *node.Life) { l.Hang(node.Running) }
	hangPaused := func(l *node.Life) { l.Hang(node.Paused) }
	die, unhang := (*node.Life).Die, (*node.Life).Unhang

	var (
		runs   = node.Next{Start: true, State: node.Running}
		paused = node.Next{State: node.Paused}
		hangs  = node.Next{Start: true, State: node.Hung}
		over   = node.Next{End: true, State: node.Running}
		again  = node.Next{End: true, Start: true, State: node.Running} // ends, and boots
	)
	for _, tc := range []struct {
		name  string
		steps []step
		boot  time.Time // of the guest that runs
		want  node.Next
	}{
		{"nothing was seen", nil, time.Time{}, over},
		{"on", []step{sees(running)}, first, runs},
		{"on, the guest boots", []step{sees(booting)}, time.Time{}, node.Next{State: node.Running}},
		{"off", []step{sees(running), sees(poweredOff)}, first, over},
		{"off and on", []step{sees(running), sees(poweredOff), sees(reset)}, first, again},
		{"reset", []step{sees(running), sees(reset)}, first, again},
		{"reset, the guest boots", []step{sees(running), sees(booting)}, first, over},
		{"its tools stop, it runs on", []step{sees(running), sees(with(func(m *node.VM) { m.GuestUp = false }))}, first, node.Next{State: node.Running}},
		{"suspended", []step{sees(running), sees(suspended)}, first, paused},
		{"resumed", []step{sees(running), sees(suspended), sees(running)}, first, runs},
		{"suspended, then off", []step{sees(suspended), sees(poweredOff)}, first, over},
		{"gone", []step{sees(running), sees(node.VM{})}, first, over},
		{"the vCenter forgets the boot time", []step{sees(running), sees(unknown)}, first, runs},
		{"the boot time was not known", []step{sees(unknown), sees(running)}, time.Time{}, runs},
		{"hung", []step{sees(running), hang}, first, hangs},
		{"hung, and let go", []step{sees(running), hang, unhang}, first, runs},
		{"hung, then suspended", []step{sees(running), hang, sees(suspended)}, first, paused},
		{"hung, then reset: the next boot does not hang", []step{sees(running), hang, sees(reset)}, first, again},
		{"what is suspended cannot hang", []step{sees(suspended), hangPaused, sees(running)}, first, runs},
		{"died", []step{sees(running), die}, first, over},
		{"died, seen as before", []step{sees(running), die, sees(running)}, first, over},
		{"died, the vCenter forgets the boot time", []step{sees(running), die, sees(unknown), sees(running)}, first, over},
		{"died, then reset", []step{sees(running), die, sees(reset)}, time.Time{}, runs},
		{"died, the boot time forgotten, then reset", []step{sees(running), die, sees(unknown), sees(reset)}, time.Time{}, runs},
		{"died, then off and on", []step{sees(running), die, sees(poweredOff), sees(running)}, time.Time{}, runs},
		{"died while it hung", []step{sees(running), hang, die}, first, over},
		{"died while off: the next boot lives", []step{sees(poweredOff), die, sees(running)}, time.Time{}, runs},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var l node.Life
			for _, s := range tc.steps {
				s(&l)
			}
			if got := l.Next(tc.boot); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

const (
	disk1 = "6000C29a-0000-0000-0000-000000000001"
	disk2 = "6000C29a-0000-0000-0000-000000000002"
)

// links is a node whose VM's links are under test; it starts no process.
type links struct {
	*node.Node
	t      *testing.T
	dir    string
	failed chan error
}

func newLinks(t *testing.T, dir string) *links {
	t.Helper()
	l := &links{t: t, dir: dir, failed: make(chan error, 10)}
	l.Node = node.New(node.Options{
		Spec:   func(node.VM) (child.Spec, error) { return child.Spec{}, os.ErrInvalid },
		Notify: func(child.Change) {},
		Links: &node.Links{
			Dir:    l.dir,
			Failed: func(err error) { l.failed <- err },
			Disk: func(volume string) string {
				if volume == "nowhere" {
					return ""
				}
				return "/datastore/" + volume
			},
		},
	})
	t.Cleanup(func() {
		if err := l.Stop(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return l
}

func withDisks(edit func(*node.VM), disks ...node.Disk) node.VM {
	return vm(func(m *node.VM) {
		m.GuestUp, m.Disks = false, disks
		if edit != nil {
			edit(m)
		}
	})
}

// require waits until the folder has these links.
func (l *links) require(want map[string]string) {
	l.t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		got := map[string]string{}
		list, _ := os.ReadDir(l.dir)
		for _, e := range list {
			got[e.Name()], _ = os.Readlink(filepath.Join(l.dir, e.Name()))
		}
		diff := cmp.Diff(want, got)
		if diff == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			l.t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

// The links are those of the disks that the VM has, whether it runs or not.
func TestLinks(t *testing.T) {
	t.Parallel()
	one, two := node.Disk{UUID: disk1, VolumeID: "v1"}, node.Disk{UUID: disk2, VolumeID: "v2"}
	link1, link2 := names.DeviceLink(disk1), names.DeviceLink(disk2)
	l := newLinks(t, filepath.Join(t.TempDir(), "by-id"))
	for _, step := range []struct {
		vm   node.VM
		want map[string]string
	}{
		{withDisks(nil), map[string]string{}},
		{withDisks(nil, one), map[string]string{link1: "/datastore/v1"}},
		{withDisks(nil, two, one), map[string]string{link1: "/datastore/v1", link2: "/datastore/v2"}},
		{withDisks(off, two, one), map[string]string{link1: "/datastore/v1", link2: "/datastore/v2"}},
		{withDisks(nil, two), map[string]string{link2: "/datastore/v2"}},
		{withDisks(nil, node.Disk{UUID: disk2, VolumeID: "v3"}), map[string]string{link2: "/datastore/v3"}},
		{withDisks(nil, node.Disk{UUID: disk1, VolumeID: "nowhere"}, node.Disk{VolumeID: "v4"}), map[string]string{}},
		{withDisks(nil, one), map[string]string{link1: "/datastore/v1"}},
		{withDisks(destroyed, one), map[string]string{}},
	} {
		l.Observe(step.vm)
		l.require(step.want)
	}
}

// Withheld links do not appear; those that there are go with their disks.
func TestLinksWithheld(t *testing.T) {
	t.Parallel()
	one, two := node.Disk{UUID: disk1, VolumeID: "v1"}, node.Disk{UUID: disk2, VolumeID: "v2"}
	link1, link2 := names.DeviceLink(disk1), names.DeviceLink(disk2)
	l := newLinks(t, filepath.Join(t.TempDir(), "by-id"))
	l.Observe(withDisks(nil, one))
	l.require(map[string]string{link1: "/datastore/v1"})
	l.WithholdLinks(true)
	l.Observe(withDisks(nil, two))
	l.require(map[string]string{})
	l.Observe(withDisks(nil, one, two))
	l.WithholdLinks(false)
	l.require(map[string]string{link1: "/datastore/v1", link2: "/datastore/v2"})
	l.WithholdLinks(true)
	l.WithholdLinks(true)
	l.Observe(withDisks(nil, two))
	l.require(map[string]string{link2: "/datastore/v2"})
}

// What a sandbox before left there goes; what is not a disk's stays.
func TestLinksLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stale, other := names.DeviceLink(disk2), "README"
	for _, name := range []string{stale, other} {
		if err := os.Symlink("/elsewhere", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	l := newLinks(t, dir)
	l.Observe(withDisks(nil, node.Disk{UUID: disk1, VolumeID: "v1"}))
	l.require(map[string]string{other: "/elsewhere", names.DeviceLink(disk1): "/datastore/v1"})
}

// A read-only folder is reported once and retried; the process still follows its VM.
func TestLinksFail(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "by-id")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := newLinks(t, dir)
	l.Observe(withDisks(nil, node.Disk{UUID: disk1, VolumeID: "v1"}))
	if err := <-l.failed; err == nil {
		t.Error("nothing was told")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	l.require(map[string]string{names.DeviceLink(disk1): "/datastore/v1"})
}
