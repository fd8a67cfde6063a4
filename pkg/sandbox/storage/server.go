package storage

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
)

// Server answers the requests of the control API about volumes. Its methods may be called from any goroutine.
type Server struct {
	*Watcher
	// Built returns an error as long as there are no vCenters.
	Built func() error
	// Mounts lists where the kubelets of running VMs have mounted a PersistentVolume.
	Mounts func(volume string) []api.Path
	// Guest returns where the guest of a VM sees the files of a disk of the in-tree provider; false when it is on no VM of a
	// Node.
	Guest func(file string) (api.Path, bool)
	// Ground returns where the files of a volume in use are. It returns false where the ground does not know.
	Ground func(api.Volume) (path api.Path, ok bool, err error)
}

// Path returns the directory by which a pod sees a volume: a file that is written there is written as by a container.
func (s *Server) Path(_ context.Context, r api.PathRequest) (api.Path, error) {
	if err := s.Built(); err != nil {
		return api.Path{}, err
	}
	v, err := Find(s.Rows(), r.Volume)
	if err == nil && (v.State == api.VolumeInUse || !strings.HasSuffix(r.Volume, ".vmdk")) {
		return s.mounted(v, r)
	}
	if path, ok := s.Guest(r.Volume); ok {
		return path, nil
	}
	if err != nil {
		return api.Path{}, err
	}
	return s.mounted(v, r)
}

// mounted is Path for a volume that has a row.
func (s *Server) mounted(v api.Volume, r api.PathRequest) (api.Path, error) {
	for _, m := range s.Mounts(v.Name) {
		if _, err := os.Stat(m.Path); err == nil {
			m.Volume = v.Name
			return m, nil
		}
	}
	if v.State == api.VolumeInUse {
		if path, ok, err := s.Ground(v); ok {
			return path, err
		}
	}
	return api.Path{}, &api.Error{
		Code: "conflict", Message: fmt.Sprintf("volume %q: is mounted into no pod: it is %s", r.Volume, v.State), Try: "vsphere-sandbox get volumes",
	}
}

// Register adds the handlers of the control API.
func (s *Server) Register(mux *http.ServeMux) {
	mux.Handle("POST /v1/volume", control.Request(func(ctx context.Context, r api.VolumeRequest) (api.Done, error) {
		if err := s.Built(); err != nil {
			return api.Done{}, err
		}
		return s.Act(ctx, r)
	}))
	mux.Handle("POST /v1/volume-path", control.Request(s.Path))
}
