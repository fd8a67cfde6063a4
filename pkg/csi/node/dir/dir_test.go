package dir_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/mount-utils"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/dir"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/folder"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// ways are the available ways to publish. Bind mounts need privilege that root in a container may not have.
func ways(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{"links": false}
	if !folder.CanBind() {
		t.Log("no bind mounts: not root on Linux")
		return all
	}
	at := t.TempDir()
	m := mount.New("")
	if err := m.Mount(at, at, "", []string{"bind"}); err != nil {
		t.Logf("no bind mounts: %v", err)
		return all
	}
	if err := m.Unmount(at); err != nil {
		t.Fatal(err)
	}
	all["bind mounts"] = true
	return all
}

func TestLife(t *testing.T) {
	for name, bind := range ways(t) {
		t.Run(name, func(t *testing.T) {
			at := t.TempDir()
			ctx := t.Context()
			open := func(n string) node.Backend {
				b, err := dir.New(dir.Options{Root: filepath.Join(at, "shared", "volumes"), StateDir: filepath.Join(at, n), Bind: bind})
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			ok := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			const id = "../v/1"
			fs := node.Use{FSType: "ext4"}
			stage := node.Stage{Volume: id, Path: filepath.Join(at, "stage"), Use: fs}
			publish := node.Publish{Volume: id, Staging: stage.Path, Path: filepath.Join(at, "pod", "mount"), Use: fs}
			t.Cleanup(func() { _ = open("a").Unpublish(ctx, id, publish.Path) })

			a := open("a")
			for range 2 {
				ok(a.Stage(ctx, stage))
				ok(a.Publish(ctx, publish))
				a = open("a") // killed and started again
			}
			ok(os.WriteFile(filepath.Join(publish.Path, "file"), []byte("content"), 0o600))
			s, err := a.Stats(ctx, id, publish.Path)
			if err != nil || s.Capacity == 0 || s.Used != 7 {
				t.Errorf("%+v %v", s, err)
			}
			if n, err := a.Expand(ctx, node.Expand{Volume: id, Path: publish.Path, Bytes: s.Capacity + 1}); n != s.Capacity+1 || err != nil {
				t.Errorf("%d %v", n, err)
			}
			for range 2 {
				ok(a.Unpublish(ctx, id, publish.Path))
				ok(a.Unstage(ctx, id, stage.Path))
			}
			if _, err := os.Lstat(publish.Path); !os.IsNotExist(err) {
				t.Errorf("the target is still there: %v", err)
			}

			b := open("b") // another node
			ok(b.Stage(ctx, stage))
			publish.ReadOnly = true
			ok(b.Publish(ctx, publish))
			if c, err := os.ReadFile(filepath.Join(publish.Path, "file")); string(c) != "content" || err != nil {
				t.Errorf("%q %v", c, err)
			}
			err = os.WriteFile(filepath.Join(publish.Path, "new"), nil, 0o600)
			if (err != nil) != bind { // a symlink does not prevent writes
				t.Errorf("written to a read-only volume: %v", err)
			}
			ok(b.Unpublish(ctx, id, publish.Path))
			if list, err := os.ReadDir(filepath.Join(at, "shared", "volumes")); err != nil || len(list) != 1 {
				t.Errorf("%v %v", list, err)
			}

			publish.Use, publish.ReadOnly = node.Use{Block: true}, false
			if err := b.Publish(ctx, publish); !errors.Is(err, volume.ErrState) {
				t.Errorf("raw, staged as a file system: %v", err)
			}
			ok(b.Unstage(ctx, id, stage.Path))
			stage.Use = publish.Use
			ok(b.Stage(ctx, stage))
			ok(b.Publish(ctx, publish))
			if info, err := os.Stat(publish.Path); err != nil || !info.Mode().IsRegular() || info.Size() != s.Capacity+1 {
				t.Errorf("%v %v", info, err)
			}
			ok(b.Unpublish(ctx, id, publish.Path))
		})
	}
}
