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
