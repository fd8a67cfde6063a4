package hollow_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// The content moves with the volume from node to node.
func TestLife(t *testing.T) {
	a, b := newRig(t), newRig(t)
	b.disks = a.disks
	a.used("v", "pod-1")
	a.write("v", "pod-1", "content")
	for range 2 { // all calls may be repeated
		a.ok(a.stage("v", "ext4"))
		a.ok(a.publish("v", "pod-1", "ext4", nil))
		a.ok(a.publish("v", "pod-2", "ext4", nil))
	}
	a.requireContent("v", "pod-2", "content")
	for range 2 {
		a.end("v", "pod-1")
		a.end("v", "pod-2")
	}
	a.requireGone(a.target("v", "pod-1"))
	a.detach("v")

	b.attach("v")
	b.ok(b.stage("v", "ext4"))
	b.ok(b.publish("v", "pod-3", "ext4", nil))
	b.requireContent("v", "pod-3", "content")
	b.end("v", "pod-3")
	if b, err := os.ReadFile(filepath.Join(a.disk("v"), "data", "file")); string(b) != "content" || err != nil {
		t.Errorf("%q %v is left on the disk", b, err)
	}
}

func TestNotAttached(t *testing.T) {
	r := newRig(t)
	r.create("v")
	if err := r.stage("v", "ext4"); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("staged without a disk: %v", err)
	}
	r.opts.Timeout = 30 * time.Second
	r.restart()
	var late sync.WaitGroup
	late.Go(func() {
		time.Sleep(20 * time.Millisecond)
		r.attach("v")
	})
	r.ok(r.stage("v", "ext4"))
	late.Wait()
	if err := r.Stage(t.Context(), node.Stage{Volume: "w", Path: r.global("w"), Use: node.Use{FSType: "ext4"}}); !errors.Is(err, volume.ErrInvalid) {
		t.Errorf("staged without a disk's UUID: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Stage(ctx, node.Stage{Volume: "w", Disk: uuid("w"), Path: r.global("w")}); !errors.Is(err, context.Canceled) {
		t.Errorf("staged for nobody: %v", err)
	}
}

// A detached disk disappears from everywhere, and returns when it is attached again.
func TestPulledOut(t *testing.T) {
	r := newRig(t)
	r.used("v", "pod")
	r.write("v", "pod", "content")
	r.detach("v")
	if _, err := os.ReadDir(r.target("v", "pod")); err == nil {
		t.Error("a detached volume can be read")
	}
	if _, err := r.Stats(t.Context(), "v", r.target("v", "pod")); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("statistics of a detached volume: %v", err)
	}
	if err := r.publish("v", "other", "ext4", nil); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("a detached volume was published: %v", err)
	}
	r.attach("v")
	r.requireContent("v", "pod", "content")
	r.detach("v")
	r.end("v", "pod") // needs no disk
	r.requireGone(r.target("v", "pod"))
}

func TestConflicts(t *testing.T) {
	r := newRig(t)
	r.used("v", "pod")
	r.create("w")
	r.attach("w")
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"another file system, staged":    {r.stage("v", "xfs"), volume.ErrExists},
		"raw, staged":                    {r.stage("v", ""), volume.ErrExists},
		"another volume's staging":       {r.Stage(t.Context(), node.Stage{Volume: "w", Disk: uuid("w"), Path: r.global("v"), Use: node.Use{FSType: "ext4"}}), volume.ErrExists},
		"not staged":                     {r.publish("w", "pod", "ext4", nil), volume.ErrState},
		"published from another staging": {r.publish("v", "pod", "ext4", func(p *node.Publish) { p.Staging = r.global("w") }), volume.ErrState},
		"as another file system":         {r.publish("v", "pod", "xfs", nil), volume.ErrState},
		"raw":                            {r.publish("v", "pod", "", nil), volume.ErrState},
		"read-only now":                  {r.publish("v", "pod", "ext4", func(p *node.Publish) { p.ReadOnly = true }), volume.ErrExists},
		"alone, and is not":              {r.publish("v", "pod-2", "ext4", func(p *node.Publish) { p.Exclusive = true }), volume.ErrInUse},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
	r.end("v", "pod")
	if err := r.stage("v", "xfs"); !errors.Is(err, volume.ErrState) {
		t.Errorf("ext4 was staged as xfs: %v", err)
	}
	// Another volume's paths are left alone.
	r.ok(r.stage("v", "ext4"))
	r.ok(r.publish("v", "pod", "ext4", nil))
	r.ok(r.Unpublish(t.Context(), "w", r.target("v", "pod")))
	r.ok(r.Unstage(t.Context(), "w", r.global("v")))
	r.ok(r.publish("v", "pod", "ext4", nil))
	if _, err := os.Lstat(r.target("v", "pod")); err != nil {
		t.Error(err)
	}
}

// An empty target is replaced, and one with content is kept.
func TestTarget(t *testing.T) {
	r := newRig(t)
	r.used("v", "pod")
	target := r.target("v", "other")
	r.ok(os.MkdirAll(filepath.Dir(target), 0o700)) // the kubelet's part
	for name, c := range map[string]struct {
		make func() error
		ok   bool
	}{
		"empty directory": {func() error { return os.MkdirAll(target, 0o700) }, true},
		"link":            {func() error { return os.Symlink("nowhere", target) }, true},
		"left half done":  {func() error { return os.Symlink("nowhere", target+".new") }, true},
		"full directory":  {func() error { return os.MkdirAll(filepath.Join(target, "sub"), 0o700) }, false},
	} {
		r.ok(c.make())
		if err := r.publish("v", "other", "ext4", nil); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if !c.ok {
			if err := r.Unpublish(t.Context(), "v", target); err == nil {
				t.Errorf("%s: was removed", name)
			}
			r.ok(os.Remove(filepath.Join(target, "sub")))
		}
		r.ok(r.Unpublish(t.Context(), "v", target))
		r.requireGone(target)
	}
}

func TestBlock(t *testing.T) {
	r := newRig(t)
	r.create("v")
	r.attach("v")
	r.ok(r.stage("v", ""))
	for range 2 {
		r.ok(r.publish("v", "pod", "", nil))
	}
	if info, err := os.Stat(r.target("v", "pod")); err != nil || !info.Mode().IsRegular() || info.Size() != gib {
		t.Errorf("%v %v", info, err)
	}
	r.ok(disk.Resize(r.disk("v"), 2*gib))
	if n, err := r.Expand(t.Context(), node.Expand{Volume: "v", Path: r.target("v", "pod"), Bytes: 2 * gib}); n != 2*gib || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if s, err := r.Stats(t.Context(), "v", r.target("v", "pod")); !s.Block || s.Capacity != 2*gib || err != nil {
		t.Errorf("%+v %v", s, err)
	}
	r.end("v", "pod")
	r.requireGone(r.target("v", "pod"))

	r.opts.NoBlock = "of no use here"
	r.restart()
	if err := r.stage("v", ""); !errors.Is(err, volume.ErrNotSupported) {
		t.Error(err)
	}
}

func TestExpand(t *testing.T) {
	r := newRig(t)
	r.used("v", "pod")
	target := r.target("v", "pod")
	if _, err := r.Expand(t.Context(), node.Expand{Volume: "v", Path: target, Bytes: 2 * gib}); !errors.Is(err, volume.ErrUnavailable) {
		t.Errorf("grew beyond the disk: %v", err)
	}
	r.ok(disk.Resize(r.disk("v"), 2*gib))
	s, err := r.Stats(t.Context(), "v", target)
	if s.Capacity != gib || err != nil {
		t.Errorf("%+v %v before it was expanded", s, err)
	}
	for _, at := range []string{target, r.global("v")} {
		if n, err := r.Expand(t.Context(), node.Expand{Volume: "v", Path: at}); n != 2*gib || err != nil {
			t.Errorf("%d %v", n, err)
		}
	}
	for _, e := range []node.Expand{{Volume: "v", Path: "some/path"}, {Volume: "w", Path: target}} {
		if _, err := r.Expand(t.Context(), e); !errors.Is(err, volume.ErrNotFound) {
			t.Errorf("%+v: %v", e, err)
		}
	}

	// The vCenter may be late.
	r.opts.Timeout = 30 * time.Second
	r.restart()
	var late sync.WaitGroup
	late.Go(func() {
		time.Sleep(20 * time.Millisecond)
		if err := disk.Resize(r.disk("v"), 3*gib); err != nil {
			t.Error(err)
		}
	})
	if n, err := r.Expand(t.Context(), node.Expand{Volume: "v", Path: target, Bytes: 3 * gib}); n != 3*gib || err != nil {
		t.Errorf("%d %v", n, err)
	}
	late.Wait()
}

// A disk restored from a snapshot of a smaller one has a smaller file system, until it is staged.
func TestRestoredLarger(t *testing.T) {
	r := newRig(t)
	r.used("v", "pod")
	r.write("v", "pod", "content")
	r.ok(disk.Copy(t.Context(), r.disk("v"), r.disk("w")))
	r.ok(disk.Resize(r.disk("w"), 2*gib))
	r.attach("w")
	r.ok(r.stage("w", "ext4"))
	r.ok(r.publish("w", "pod", "ext4", nil))
	r.requireContent("w", "pod", "content")
	s, err := r.Stats(t.Context(), "w", r.target("w", "pod"))
	if s.Capacity != 2*gib || s.Used != int64(len("content")) || s.Available != 2*gib-s.Used || s.InodesUsed != 2 || err != nil {
		t.Errorf("%+v %v", s, err)
	}
}
