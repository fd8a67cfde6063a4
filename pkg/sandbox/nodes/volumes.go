package nodes

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Mounts returns the paths at which the kubelets of running VMs have mounted a PersistentVolume.
func (n *Nodes) Mounts(volume string) (all []api.Path) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, b := range n.bound {
		m := n.vms[b.Key]
		if m == nil || m.guest == nil {
			continue
		}
		if p, _, _ := m.guest.State(); p != node.Running {
			continue
		}
		for pod, path := range node.Mounts(m.Dir()+"/kubelet", volume) {
			all = append(all, api.Path{Node: name, Pod: pod, Path: path})
		}
	}
	return all
}

// DiskPath returns the directory with the files of a disk of the in-tree provider ("[ds] kubevols/a.vmdk"), as the guest of
// its VM sees it. A new disk is formatted, as the kubelet of the in-tree provider does. It returns false when no VM that is a
// Node has the disk.
func (n *Nodes) DiskPath(file string) (api.Path, bool) {
	if !strings.HasSuffix(file, ".vmdk") {
		return api.Path{}, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, b := range n.bound {
		m := n.vms[b.Key]
		if m == nil {
			continue
		}
		for _, d := range m.vm.Disks {
			if d.File != file {
				continue
			}
			dir, err := os.Readlink(filepath.Join(node.ByID(m.Dir()), names.DeviceLink(d.UUID)))
			if err != nil {
				return api.Path{}, false
			}
			is, err := disk.Open(dir)
			if err != nil {
				return api.Path{}, false
			}
			_, err = is.Format("ext4")
			return api.Path{Volume: file, Node: name, Path: is.Data()}, err == nil
		}
	}
	return api.Path{}, false
}
