package device_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/mount-utils"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/capability"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/device"
)

const mib = 1 << 20

// rig is a node with loop devices as disks.
type rig struct {
	node.Backend
	t         *testing.T
	dir, byID string
	loops     map[string]string // devices by disk UUID
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: dir, byID: filepath.Join(dir, "by-id"), loops: map[string]string{}}
	if r.Backend, err = device.New(device.Options{ByIDDir: r.byID, Timeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(r.byID, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.unmountAll)
	return r
}

// requireLoops skips the test if loop devices cannot be created and mounted: not root, no module, no permission in a container, no
// tools.
func requireLoops(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("loop devices and mounts need root")
	}
	for _, tool := range []string{"losetup", "blkid", "mkfs.ext4", "resize2fs", "fsck"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s", tool)
		}
	}
	dir := t.TempDir()
	image := filepath.Join(dir, "image")
	if err := os.WriteFile(image, make([]byte, mib), 0o600); err != nil {
		t.Fatal(err)
	}
	loop, err := run("losetup", "-f", "--show", image)
	if err != nil {
		t.Skipf("no loop devices: %v", err)
	}
	t.Cleanup(func() { _, _ = run("losetup", "-d", loop) })
	m := mount.New("")
	if err := m.Mount(dir, dir, "", []string{"bind"}); err != nil {
		t.Skipf("no mounts: %v", err)
	}
	if err := m.Unmount(dir); err != nil {
		t.Fatal(err)
	}
}

// requireResize also skips the test if a mounted file system cannot be grown.
func requireResize(t *testing.T) {
	t.Helper()
	requireLoops(t)
	if capability.Withheld(capability.SysResource) {
		t.Skip("a mounted file system can be made larger only with " + capability.SysResource)
	}
}

func run(name string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", name, err, &out)
	}
	return strings.TrimSpace(out.String()), err
}

func uuid(n int) string { return fmt.Sprintf("6000c29f%024d", n) }

func (r *rig) image(n int) string { return filepath.Join(r.dir, fmt.Sprint("image-", n)) }

// attach creates a disk's image if needed, and attaches it to the node.
func (r *rig) attach(n int, bytes int64) {
	r.t.Helper()
	r.size(n, bytes)
	loop, err := run("losetup", "-f", "--show", r.image(n))
	r.ok(err)
	r.loops[uuid(n)] = loop
	r.t.Cleanup(func() { _, _ = run("losetup", "-d", loop) })
	r.ok(os.Symlink(loop, filepath.Join(r.byID, names.DeviceLink(uuid(n)))))
}

func (r *rig) size(n int, bytes int64) {
	r.t.Helper()
	f, err := os.OpenFile(r.image(n), os.O_WRONLY|os.O_CREATE, 0o600)
	r.ok(err)
	r.ok(f.Truncate(bytes))
	r.ok(f.Close())
}

// enlarge does the part of the vCenter and the SCSI driver.
func (r *rig) enlarge(n int, bytes int64) {
	r.t.Helper()
	r.size(n, bytes)
	_, err := run("losetup", "-c", r.loops[uuid(n)])
	r.ok(err)
}

// unmountAll unmounts what a failed test has left.
func (r *rig) unmountAll() {
	table, err := mount.ParseMountInfo("/proc/self/mountinfo")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, t := range slices.Backward(table) {
		if strings.HasPrefix(t.MountPoint, r.dir+"/") {
			_ = mount.New("").Unmount(t.MountPoint)
		}
	}
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) at(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) staging(n int, use node.Use) node.Stage {
	return node.Stage{Volume: fmt.Sprint("v", n), Disk: uuid(n), Path: r.at(fmt.Sprint("stage-", n)), Use: use}
}

func (r *rig) publishing(n int, pod string, use node.Use) node.Publish {
	return node.Publish{
		Volume: fmt.Sprint("v", n), Disk: uuid(n), Staging: r.at(fmt.Sprint("stage-", n)),
		Path: filepath.Join(r.dir, pod, fmt.Sprint("mount-", n)), Use: use,
	}
}

// requireMounts fails unless the path has that many mounts.
func (r *rig) requireMounts(path string, want int) {
	r.t.Helper()
	table, err := mount.ParseMountInfo("/proc/self/mountinfo")
	r.ok(err)
	is := 0
	for _, m := range table {
		if m.MountPoint == path {
			is++
		}
	}
	if is != want {
		r.t.Errorf("%d mounts at %s, want %d", is, path, want)
	}
}
