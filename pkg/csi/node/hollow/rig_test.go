package hollow_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/folder"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/hollow"
)

const gib = 1 << 30

// rig is one hollow node with its vCenter and its kubelet.
type rig struct {
	*folder.Backend
	t     *testing.T
	opts  hollow.Options
	disks string // of the datastore
	pods  string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{
		t: t, disks: filepath.Join(dir, "datastore"), pods: filepath.Join(dir, "kubelet"),
		opts: hollow.Options{ByIDDir: filepath.Join(dir, "by-id"), StateDir: filepath.Join(dir, "state"), Timeout: 50 * time.Millisecond},
	}
	r.restart()
	return r
}

// restart simulates that the service is killed and started again.
func (r *rig) restart() {
	r.t.Helper()
	b, err := hollow.New(r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	r.Backend = b
}

// uuid is the UUID of a volume's disk.
func uuid(volume string) string {
	return fmt.Sprintf("%032x", volume)[:32]
}

func (r *rig) disk(volume string) string { return filepath.Join(r.disks, volume) }

func (r *rig) create(volume string) {
	r.t.Helper()
	if err := disk.Create(r.disk(volume), gib); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) byID(volume string) string {
	return filepath.Join(r.opts.ByIDDir, names.DeviceLink(uuid(volume)))
}

func (r *rig) attach(volume string) {
	r.t.Helper()
	if err := os.MkdirAll(r.opts.ByIDDir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(r.disk(volume), r.byID(volume)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) detach(volume string) {
	r.t.Helper()
	if err := os.Remove(r.byID(volume)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) global(volume string) string {
	return filepath.Join(r.pods, "plugins", volume, "globalmount")
}

func (r *rig) target(volume, pod string) string {
	return filepath.Join(r.pods, "pods", pod, volume, "mount")
}

func (r *rig) stage(volume, fsType string) error {
	return r.Stage(r.t.Context(), node.Stage{
		Volume: volume, Disk: uuid(volume), Path: r.global(volume), Use: node.Use{FSType: fsType, Block: fsType == ""},
	})
}

func (r *rig) publish(volume, pod, fsType string, edit func(*node.Publish)) error {
	p := node.Publish{
		Volume: volume, Disk: uuid(volume), Staging: r.global(volume), Path: r.target(volume, pod), Use: node.Use{FSType: fsType, Block: fsType == ""},
	}
	if edit != nil {
		edit(&p)
	}
	return r.Publish(r.t.Context(), p)
}

// used creates a volume that a pod uses.
func (r *rig) used(volume, pod string) {
	r.t.Helper()
	r.create(volume)
	r.attach(volume)
	r.ok(r.stage(volume, "ext4"))
	r.ok(r.publish(volume, pod, "ext4", nil))
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) write(volume, pod, content string) {
	r.t.Helper()
	r.ok(os.WriteFile(filepath.Join(r.target(volume, pod), "file"), []byte(content), 0o600))
}

func (r *rig) requireContent(volume, pod, want string) {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.target(volume, pod), "file"))
	if string(b) != want || err != nil {
		r.t.Errorf("%q %v, want %q", b, err, want)
	}
}

func (r *rig) requireGone(path string) {
	r.t.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		r.t.Errorf("%s is still there: %v", path, err)
	}
}

func (r *rig) end(volume, pod string) {
	r.t.Helper()
	ctx := context.WithoutCancel(r.t.Context())
	r.ok(r.Unpublish(ctx, volume, r.target(volume, pod)))
	r.ok(r.Unstage(ctx, volume, r.global(volume)))
}
