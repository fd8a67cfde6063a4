package device_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

func TestNotAttached(t *testing.T) {
	r := newRig(t)
	for name, use := range map[string]node.Use{"file system": {FSType: "ext4"}, "raw": {Block: true}} {
		if err := r.Stage(t.Context(), r.staging(1, use)); !errors.Is(err, volume.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.ok(os.Symlink(r.dir, filepath.Join(r.byID, names.DeviceLink(uuid(1)))))
	if err := r.Stage(t.Context(), r.staging(1, node.Use{FSType: "ext4"})); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("a directory was taken for a disk: %v", err)
	}
	if err := r.Publish(t.Context(), r.publishing(1, "pod", node.Use{FSType: "ext4"})); !errors.Is(err, volume.ErrState) {
		t.Errorf("not staged: %v", err)
	}
	for _, path := range []string{"some/path", r.dir} {
		if _, err := r.Stats(t.Context(), "v", path); !errors.Is(err, volume.ErrNotFound) {
			t.Errorf("statistics of nothing at %s: %v", path, err)
		}
		if _, err := r.Expand(t.Context(), node.Expand{Volume: "v", Path: path}); !errors.Is(err, volume.ErrNotFound) {
			t.Errorf("growth of nothing at %s: %v", path, err)
		}
	}
	r.ok(r.Unpublish(t.Context(), "v", r.at("nowhere")))
	r.ok(r.Unstage(t.Context(), "v", r.at("nowhere")))
}

func TestLife(t *testing.T) {
	requireLoops(t)
	for _, fsType := range []string{"ext4", "ext3"} {
		t.Run(fsType, func(t *testing.T) {
			r := newRig(t)
			ctx := t.Context()
			use := node.Use{FSType: fsType}
			r.attach(1, 32*mib)
			stage, pod := r.staging(1, use), r.publishing(1, "pod", use)
			reader := r.publishing(1, "reader", use)
			reader.ReadOnly = true
			for range 2 {
				r.ok(r.Stage(ctx, stage))
				r.ok(r.Publish(ctx, pod))
				r.ok(r.Publish(ctx, reader))
			}
			for _, path := range []string{stage.Path, pod.Path, reader.Path} {
				r.requireMounts(path, 1)
			}
			r.ok(os.WriteFile(filepath.Join(pod.Path, "file"), []byte("content"), 0o600))
			if b, err := os.ReadFile(filepath.Join(reader.Path, "file")); string(b) != "content" || err != nil {
				t.Errorf("%q %v", b, err)
			}
			if err := os.WriteFile(filepath.Join(reader.Path, "new"), nil, 0o600); err == nil {
				t.Error("written to a read-only volume")
			}

			if s, err := r.Stats(ctx, "v1", pod.Path); err != nil || s.Capacity < 16*mib || s.Capacity > 32*mib || s.InodesUsed == 0 {
				t.Errorf("%+v %v", s, err)
			}
			alone := r.publishing(1, "alone", use)
			alone.Exclusive = true
			if err := r.Publish(ctx, alone); !errors.Is(err, volume.ErrInUse) {
				t.Errorf("alone, and is not: %v", err)
			}
			writer := reader
			writer.ReadOnly = false
			if err := r.Publish(ctx, writer); !errors.Is(err, volume.ErrExists) {
				t.Errorf("read-only, and now not: %v", err)
			}
			for range 2 {
				r.ok(r.Unpublish(ctx, "v1", pod.Path))
				r.ok(r.Unpublish(ctx, "v1", reader.Path))
				r.ok(r.Unstage(ctx, "v1", stage.Path))
			}
			if _, err := os.Lstat(pod.Path); !os.IsNotExist(err) {
				t.Errorf("the target is still there: %v", err)
			}

			other := stage
			other.Use.FSType = "xfs"
			if err := r.Stage(ctx, other); !errors.Is(err, volume.ErrState) {
				t.Errorf("%s was staged as xfs: %v", fsType, err)
			}
			r.ok(r.Stage(ctx, stage)) // as if on another node
			r.ok(r.Publish(ctx, alone))
			if b, err := os.ReadFile(filepath.Join(alone.Path, "file")); string(b) != "content" || err != nil {
				t.Errorf("%q %v", b, err)
			}
			r.attach(2, 32*mib)
			second := r.staging(2, use)
			second.Path = stage.Path
			if err := r.Stage(ctx, second); !errors.Is(err, volume.ErrExists) {
				t.Errorf("over another disk: %v", err)
			}
			r.ok(r.Unpublish(ctx, "v1", alone.Path))
			r.ok(r.Unstage(ctx, "v1", stage.Path))
		})
	}
}

func TestExpand(t *testing.T) {
	requireResize(t)
	r := newRig(t)
	ctx := t.Context()
	use := node.Use{FSType: "ext4"}
	r.attach(1, 32*mib)
	pod := r.publishing(1, "pod", use)
	r.ok(r.Stage(ctx, r.staging(1, use)))
	r.ok(r.Publish(ctx, pod))
	before, err := r.Stats(ctx, "v1", pod.Path)
	r.ok(err)
	if _, err := r.Expand(ctx, node.Expand{Volume: "v1", Path: pod.Path, Bytes: 64 * mib}); !errors.Is(err, volume.ErrUnavailable) {
		t.Errorf("grew beyond the disk: %v", err)
	}
	r.enlarge(1, 64*mib)
	for range 2 {
		if n, err := r.Expand(ctx, node.Expand{Volume: "v1", Path: pod.Path, Bytes: 64 * mib}); n != 64*mib || err != nil {
			t.Errorf("%d %v", n, err)
		}
	}
	if after, err := r.Stats(ctx, "v1", pod.Path); err != nil || after.Capacity <= before.Capacity {
		t.Errorf("%+v %v", after, err)
	}
}

// A file system that is smaller than its disk, as after a restore to a larger one, grows when it is staged, also if the service was
// killed in between.
func TestRestoredLarger(t *testing.T) {
	requireResize(t)
	r := newRig(t)
	ctx := t.Context()
	stage := r.staging(1, node.Use{FSType: "ext4"})
	r.attach(1, 32*mib)
	r.ok(r.Stage(ctx, stage))
	for name, between := range map[string]func(){
		"not staged": func() { r.ok(r.Unstage(ctx, "v1", stage.Path)) },
		"mounted":    func() {},
	} {
		before, err := r.Stats(ctx, "v1", stage.Path)
		r.ok(err)
		between()
		r.enlarge(1, before.Capacity+64*mib)
		r.ok(r.Stage(ctx, stage))
		if after, err := r.Stats(ctx, "v1", stage.Path); err != nil || after.Capacity < before.Capacity+32*mib {
			t.Errorf("%s: %+v %v", name, after, err)
		}
	}
	r.ok(r.Unstage(ctx, "v1", stage.Path))
}

func TestBlock(t *testing.T) {
	requireLoops(t)
	r := newRig(t)
	ctx := t.Context()
	use := node.Use{Block: true}
	r.attach(1, 16*mib)
	r.attach(2, 16*mib)
	pod := r.publishing(1, "pod", use)
	for range 2 {
		r.ok(r.Stage(ctx, r.staging(1, use)))
		r.ok(r.Publish(ctx, pod))
	}
	r.requireMounts(pod.Path, 1) // not twice
	f, err := os.OpenFile(pod.Path, os.O_WRONLY, 0)
	r.ok(err)
	_, err = f.WriteAt([]byte("raw"), mib)
	r.ok(errors.Join(err, f.Sync(), f.Close()))

	r.enlarge(1, 32*mib)
	if n, err := r.Expand(ctx, node.Expand{Volume: "v1", Path: pod.Path, Bytes: 32 * mib}); n != 32*mib || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if s, err := r.Stats(ctx, "v1", pod.Path); !s.Block || s.Capacity != 32*mib || err != nil {
		t.Errorf("%+v %v", s, err)
	}
	other := r.publishing(2, "pod", use)
	other.Path = pod.Path
	if err := r.Publish(ctx, other); !errors.Is(err, volume.ErrExists) {
		t.Errorf("over another disk: %v", err)
	}
	for range 2 {
		r.ok(r.Unpublish(ctx, "v1", pod.Path))
		r.ok(r.Unstage(ctx, "v1", r.staging(1, use).Path))
	}
	if _, err := os.Lstat(pod.Path); !os.IsNotExist(err) {
		t.Errorf("the target is still there: %v", err)
	}
	image, err := os.ReadFile(r.image(1))
	if err != nil || string(image[mib:mib+3]) != "raw" {
		t.Errorf("%v: the disk was not written to", err)
	}
}

// Staging waits for a disk that appears late; several pods use it.
func TestLate(t *testing.T) {
	requireLoops(t)
	r := newRig(t)
	use := node.Use{FSType: "ext4"}
	var late sync.WaitGroup
	late.Go(func() {
		time.Sleep(50 * time.Millisecond)
		r.attach(1, 32*mib)
	})
	err := r.Stage(t.Context(), r.staging(1, use))
	late.Wait()
	r.ok(err)
	for _, pod := range []string{"a", "b", "c"} {
		r.ok(r.Publish(t.Context(), r.publishing(1, pod, use)))
	}
	for _, pod := range []string{"a", "b", "c"} {
		r.ok(r.Unpublish(t.Context(), "v1", r.publishing(1, pod, use).Path))
	}
	r.ok(r.Unstage(t.Context(), "v1", r.staging(1, use).Path))
}
