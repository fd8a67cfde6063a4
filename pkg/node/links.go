package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// Links shows the disks of a VM to its guest: as links in a folder that replaces /dev/disk/by-id. A link exists as long
// as the VM has the disk, powered on or not.
type Links struct {
	// Dir is the folder; it is created and has nothing else in it.
	Dir string
	// Disk returns the directory of a volume's disk, or "" if it has none and gets no link. It is called from the node's
	// goroutine.
	Disk func(volumeID string) string
	// Failed is called once for each reason why the links could not be updated; that is retried. It is called from the node's
	// goroutine and must not call the Node. Optional.
	Failed func(error)
}

// ByID returns the folder in a node's directory that stands for the guest's /dev/disk/by-id.
func ByID(dir string) string { return filepath.Join(dir, "by-id") }

// prefix starts the name of every link: see names.DeviceLink.
const prefix = "wwn-0x"

// link reconciles the links with the VM's disks. It returns false if the caller must retry.
func (n *Node) link() bool {
	l := n.opts.Links
	if l == nil {
		return true
	}
	n.mu.Lock()
	m, withheld := n.life.VM, n.withheld
	n.mu.Unlock()
	err := l.follow(m, withheld)
	if err == nil {
		n.linking = ""
		return true
	}
	if err.Error() != n.linking { // report it once
		n.linking = err.Error()
		if l.Failed != nil {
			l.Failed(err)
		}
	}
	return false
}

// WithholdLinks creates no links for new disks any more, as in a VM without disk.EnableUUID, whose guest cannot identify
// disks; or ends that, and creates the missing ones. Existing links stay as long as their disks.
func (n *Node) WithholdLinks(withheld bool) { n.change(func() { n.withheld = withheld }) }

// follow creates the missing links, unless they are withheld, and removes those of detached disks.
func (l *Links) follow(m Machine, withheld bool) error {
	want := map[string]string{}
	if m.Exists {
		for _, d := range m.Disks {
			if to := l.Disk(d.VolumeID); to != "" && d.UUID != "" {
				want[names.DeviceLink(d.UUID)] = to
			}
		}
	}
	is, err := os.ReadDir(l.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, e := range is {
		path := filepath.Join(l.Dir, e.Name())
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if to, e2 := os.Readlink(path); e2 == nil && want[e.Name()] == to {
			delete(want, e.Name())
			continue
		}
		err = errors.Join(err, os.Remove(path))
	}
	if len(want) == 0 || withheld {
		return err
	}
	err = errors.Join(err, os.MkdirAll(l.Dir, 0o700))
	for name, to := range want {
		err = errors.Join(err, os.Symlink(to, filepath.Join(l.Dir, name)))
	}
	return err
}

// Mounts returns where a kubelet with that root directory has mounted a PersistentVolume, by the UID of the pod. The
// paths may have been removed: a kubelet removes them when it can.
func Mounts(root, volume string) map[string]string {
	found, err := filepath.Glob(filepath.Join(root, "pods", "*", "volumes", "kubernetes.io~csi", volume, "mount"))
	if err != nil { // a name with a pattern, which PersistentVolumes do not have
		return nil
	}
	paths := map[string]string{}
	for _, path := range found {
		pod := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(path))))
		paths[filepath.Base(pod)] = path
	}
	return paths
}
