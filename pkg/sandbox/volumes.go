package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// mounts lists where the kubelets of running VMs have mounted a PersistentVolume.
func (n *nodes) mounts(volume string) (all []api.Path) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, b := range n.bound {
		m := n.vms[b.key]
		if m == nil || m.node == nil {
			continue
		}
		if p, _, _ := m.node.State(); p != node.Running {
			continue
		}
		for pod, path := range node.Mounts(n.dir(m)+"/kubelet", volume) {
			all = append(all, api.Path{Node: name, Pod: pod, Path: path})
		}
	}
	return all
}

// guestPath is where the guest of a VM sees the files of a disk of the in-tree provider ("[ds] kubevols/a.vmdk"): the kubelet
// of before, which had the disk attached and mounted, wrote them there. As that did, it formats a disk that is new. False
// when no VM has the disk, or it is on no VM of a node.
func (n *nodes) guestPath(file string) (api.Path, bool) {
	if !strings.HasSuffix(file, ".vmdk") {
		return api.Path{}, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, b := range n.bound {
		m := n.vms[b.key]
		if m == nil {
			continue
		}
		for _, d := range m.vm.Disks {
			if d.File != file {
				continue
			}
			dir, err := os.Readlink(filepath.Join(byID(n.dir(m)), names.DeviceLink(d.UUID)))
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
