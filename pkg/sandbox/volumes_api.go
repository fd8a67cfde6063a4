package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func (s *Sandbox) routeStorage(mux *http.ServeMux) {
	mux.Handle("GET /v1/datastores", s.listing(func() any { return s.datastores() }))
	mux.Handle("GET /v1/volumes", s.listing(func() any { return s.volumes() }))
	mux.Handle("POST /v1/volume", request(s.actOnVolume))
	mux.Handle("POST /v1/volume-path", request(s.volumePath))
	mux.Handle("POST /v1/out-of-service", request(s.outOfService))
}

// datastores lists them with how many volumes each has.
func (s *Sandbox) datastores() []api.Datastore {
	rows := []api.Datastore{}
	for _, vc := range s.vcenters {
		count := map[string]int{}
		for _, v := range vc.volumes() {
			count[v.DatastoreName]++
		}
		for _, row := range vc.inventory.Datastores() {
			row.Volumes = count[row.Name]
			rows = append(rows, row)
		}
	}
	return rows
}

func (s *Sandbox) volumes() []api.Volume {
	if b := s.volumeBook(); b != nil {
		return b.Rows()
	}
	return []api.Volume{}
}

// findVolume finds the volume that a request names, by claim, PersistentVolume or id.
func findVolume(rows []api.Volume, name string) (api.Volume, error) {
	var found []api.Volume
	var names []string
	for _, v := range rows {
		_, claim, _ := strings.Cut(v.Claim, "/")
		switch name {
		case v.Name, v.Handle, v.Claim:
			return v, nil
		case claim:
			found = append(found, v)
		}
		names = append(names, v.Name, v.Claim, claim)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		message := fmt.Sprintf("volume %q: no such volume", name)
		if near := nearest.Of(name, names); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		return api.Volume{}, &api.Error{Code: "not-found", Message: message, Try: "vsphere-sandbox get volumes"}
	}
	claims := make([]string, len(found))
	for i, v := range found {
		claims[i] = v.Claim
	}
	return api.Volume{}, &api.Error{
		Code: "ambiguous", Message: fmt.Sprintf("volume %q: there are %d: %s", name, len(found), strings.Join(claims, ", ")), Try: "name its namespace, too",
	}
}

// volumePath answers with the directory by which a pod sees a volume: what is written there goes the way that a
// container's writes go.
func (s *Sandbox) volumePath(_ context.Context, r api.PathRequest) (api.Path, error) {
	if err := s.built(); err != nil {
		return api.Path{}, err
	}
	v, err := findVolume(s.volumes(), r.Volume)
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
