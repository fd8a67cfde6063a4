package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
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
	mux.Handle("POST /v1/out-of-service", control.Request(s.outOfService))
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
	if p, ok := s.nodes.DiskPath(r.Volume); ok {
		return p, nil
	}
	if err != nil {
		return api.Path{}, err
	}
	return s.mountPath(v, r)
}

// mountPath is volumePath for what the books have.
func (s *Sandbox) mountPath(v api.Volume, r api.PathRequest) (api.Path, error) {
	for _, m := range s.nodes.Mounts(v.Name) {
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
