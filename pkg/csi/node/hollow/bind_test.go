package hollow_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/mount-utils"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/folder"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// binds reports whether bind mounts are available, which need privilege that root in a container may not have.
func binds(t *testing.T) bool {
	t.Helper()
	at, m := t.TempDir(), mount.New("")
	if err := m.Mount(at, at, "", []string{"bind"}); !folder.CanBind() || err != nil {
		t.Logf("no bind mounts here: %v", err)
		return false
	}
	if err := m.Unmount(at); err != nil {
		t.Fatal(err)
	}
	return true
}

// A pod sees the target directory of a disk's symlink, not the symlink, and only after the disk is attached. Mounts stay until they
// are unpublished, and are restored after a power failure.
func TestBind(t *testing.T) {
	if !binds(t) {
		return
	}
	r := newRig(t)
	r.opts.Bind, r.opts.NoBlock = true, "it is a directory"
	r.restart()
	t.Cleanup(func() { r.end("v", "pod") })
	if r.MountsForGroup() {
		t.Error("owners of files count for pods that are real")
	}
	r.create("v")
	if err := r.stage("v", "ext4"); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("staged without a disk: %v", err)
	}
	r.attach("v")
	if err := r.stage("v", ""); !errors.Is(err, volume.ErrNotSupported) {
		t.Errorf("a directory as a raw device: %v", err)
	}
	r.ok(r.stage("v", "ext4"))
	r.ok(r.publish("v", "pod", "ext4", nil))
	r.write("v", "pod", "content")
	if info, err := os.Lstat(r.target("v", "pod")); err != nil || !info.IsDir() {
		t.Errorf("%v %v", info, err)
	}
	r.detach("v")
	r.requireContent("v", "pod", "content") // still there, as in a guest that hangs
	if err := r.publish("v", "other", "ext4", nil); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("published without its disk: %v", err)
	}

	r.ok(mount.New("").Unmount(r.target("v", "pod"))) // as in a power failure
	r.restart()
	r.attach("v")
	r.ok(r.stage("v", "ext4"))
	r.ok(r.publish("v", "pod", "ext4", nil))
	r.requireContent("v", "pod", "content")

	r.ok(r.publish("v", "reader", "ext4", func(p *node.Publish) { p.ReadOnly = true }))
	if err := os.WriteFile(filepath.Join(r.target("v", "reader"), "new"), nil, 0o600); err == nil {
		t.Error("written to what is read-only")
	}
	r.ok(r.Unpublish(t.Context(), "v", r.target("v", "reader")))
	r.end("v", "pod")
	r.requireGone(r.target("v", "pod"))
}
