package folder_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/folder"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

var errBroken = errors.New("broken")

// mounts are symlinks, with injected failures.
type mounts struct {
	folder.Links
	broken bool
}

func (m *mounts) Mount(source, target string, readOnly bool) error {
	if m.broken {
		return errBroken
	}
	return m.Links.Mount(source, target, readOnly)
}

func (m *mounts) Unmount(target string) error {
	if m.broken {
		return errBroken
	}
	return m.Links.Unmount(target)
}

// one has a single disk.
type one string

func (d one) Find(context.Context, string, string) (string, error) { return string(d), nil }
func (d one) Enlarged(_ context.Context, dir string, bytes int64) error {
	return disk.Resize(dir, bytes)
}

func newOptions(t *testing.T) (folder.Options, *mounts) {
	t.Helper()
	dir := t.TempDir()
	if err := disk.Create(filepath.Join(dir, "disk"), 1<<30); err != nil {
		t.Fatal(err)
	}
	m := &mounts{}
	return folder.Options{Disks: one(filepath.Join(dir, "disk")), Mounter: m, Table: filepath.Join(dir, "state", "mounts.json")}, m
}

// The same call again completes an operation that failed halfway.
func TestMountFails(t *testing.T) {
	o, m := newOptions(t)
	b, err := folder.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, use := t.Context(), node.Use{FSType: "ext4"}
	p := node.Publish{Volume: "v", Staging: "/stage", Path: filepath.Join(t.TempDir(), "target"), Use: use}
	if err := b.Stage(ctx, node.Stage{Volume: "v", Path: "/stage", Use: use}); err != nil {
		t.Fatal(err)
	}
	m.broken = true
	if err := b.Publish(ctx, p); !errors.Is(err, errBroken) {
		t.Errorf("published: %v", err)
	}
	m.broken = false
	if err := b.Publish(ctx, p); err != nil {
		t.Error(err)
	}
	m.broken = true
	if err := b.Unpublish(ctx, "v", p.Path); !errors.Is(err, errBroken) {
		t.Errorf("unpublished: %v", err)
	}
	if _, err := b.Stats(ctx, "v", p.Path); err != nil {
		t.Errorf("it is not known any more: %v", err)
	}

	// A mount that cannot be removed after a reboot does not prevent the start.
	o.Boot = "next"
	if _, err := folder.New(o); err != nil {
		t.Error(err)
	}
	m.broken = false
	if err := b.Unpublish(ctx, "v", p.Path); err != nil {
		t.Error(err)
	}
}

// Nothing is mounted unless it was recorded.
func TestTableFails(t *testing.T) {
	o, _ := newOptions(t)
	b, err := folder.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, use := t.Context(), node.Use{FSType: "ext4"}
	p := node.Publish{Volume: "v", Staging: "/stage", Path: filepath.Join(t.TempDir(), "target"), Use: use}
	if err := os.WriteFile(filepath.Dir(o.Table), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Stage(ctx, node.Stage{Volume: "v", Path: "/stage", Use: use}); err == nil {
		t.Error("staged")
	}
	if err := b.Publish(ctx, p); err == nil {
		t.Error("published what is not staged")
	}
	if err := os.Remove(filepath.Dir(o.Table)); err != nil {
		t.Fatal(err)
	}
	if err := b.Stage(ctx, node.Stage{Volume: "v", Path: "/stage", Use: use}); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(filepath.Dir(o.Table)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Dir(o.Table), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(ctx, p); err == nil {
		t.Error("published")
	}
	if _, err := os.Lstat(p.Path); !os.IsNotExist(err) {
		t.Errorf("something was made: %v", err)
	}
}

// After a power failure the mounts are gone: their records do not keep another pod from a volume that allows only one path.
func TestMountIsLost(t *testing.T) {
	o, _ := newOptions(t)
	b, err := folder.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, use, dir := t.Context(), node.Use{FSType: "ext4"}, t.TempDir()
	publish := func(pod string) error {
		return b.Publish(ctx, node.Publish{Volume: "v", Staging: "/stage", Path: filepath.Join(dir, pod), Use: use, Exclusive: true})
	}
	if err := errors.Join(b.Stage(ctx, node.Stage{Volume: "v", Path: "/stage", Use: use}), publish("first")); err != nil {
		t.Fatal(err)
	}
	if err := publish("second"); !errors.Is(err, volume.ErrInUse) {
		t.Errorf("published twice: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "first")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := publish("second"); err != nil {
			t.Error(err)
		}
	}
}
