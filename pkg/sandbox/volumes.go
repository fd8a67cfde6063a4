package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
)

func (s *Sandbox) routeStorage(mux *http.ServeMux) {
	mux.Handle("GET /v1/datastores", s.listing(func() any { return s.vcenters.Datastores() }))
	mux.Handle("GET /v1/volumes", s.listing(func() any { return s.storage.Rows() }))
	mux.Handle("POST /v1/volume", control.Request(func(ctx context.Context, r api.VolumeRequest) (api.Done, error) {
		if err := s.built(); err != nil {
			return api.Done{}, err
		}
		return s.storage.Act(ctx, r)
	}))
	mux.Handle("POST /v1/volume-path", control.Request(s.volumePath))
}

// volumePath answers with the directory by which a pod sees a volume: what is written there goes the way that a
// container's writes go.
func (s *Sandbox) volumePath(_ context.Context, r api.PathRequest) (api.Path, error) {
	if err := s.built(); err != nil {
		return api.Path{}, err
	}
	v, err := storage.Find(s.storage.Rows(), r.Volume)
	if err == nil && (v.State == api.VolumeInUse || !strings.HasSuffix(r.Volume, ".vmdk")) {
		return s.mountPath(v, r)
	}
	if p, ok := s.nodes.guestPath(r.Volume); ok {
		return p, nil
	}
	if err != nil {
		return api.Path{}, err
	}
	return s.mountPath(v, r)
}

// mountPath is volumePath for what the books have.
func (s *Sandbox) mountPath(v api.Volume, r api.PathRequest) (api.Path, error) {
	for _, m := range s.nodes.mounts(v.Name) {
		if _, err := os.Stat(m.Path); err != nil {
			continue
		}
		m.Volume = v.Name
		return m, nil
	}
	if g, ok := s.ground.(ground.Volumes); ok && v.State == api.VolumeInUse {
		return g.Path(v)
	}
	return api.Path{}, &api.Error{
		Code: "conflict", Message: fmt.Sprintf("volume %q: is mounted into no pod: it is %s", r.Volume, v.State), Try: "vsphere-sandbox get volumes",
	}
}

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
