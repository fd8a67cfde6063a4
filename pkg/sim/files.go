package sim

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

const datastorePath = "/folder/"

// files asks for a session or a password, and for the privilege on the datastore, where vcsim does not: for the files of
// datastores. A file that is written is a new one, because the one that is there may go by several names: empty files of
// VMs do (see pkg/sim/inventory).
func (s *service) files(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, datastorePath) {
			next.ServeHTTP(w, r)
			return
		}
		user, ok := s.access.Authenticated(r)
		if !ok {
			http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
			return
		}
		ref, dir, err := s.datastore(r.Context(), r.URL.Query())
		if err != nil || !s.access.MayRead(user, ref) {
			http.NotFound(w, r)
			return
		}
		privilege := "Datastore.FileManagement"
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			privilege = "Datastore.Browse"
		}
		if !s.access.Allowed(user, privilege, ref) {
			http.Error(w, http.StatusText(http.StatusForbidden), http.StatusForbidden)
			return
		}
		if r.Method == http.MethodPut && !strings.Contains(r.URL.Path, "..") { // which vcsim refuses
			file := path.Join(dir, strings.TrimPrefix(r.URL.Path, datastorePath))
			if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
				_ = os.Remove(file) // at worst it is written over
			}
		}
		next.ServeHTTP(w, r)
	})
}

// datastore finds the datastore of a path to a file, and the directory that its files are in.
func (s *service) datastore(ctx context.Context, query url.Values) (ref vc.Ref, dir string, err error) {
	client, err := vim25.NewClient(ctx, s.vcsim)
	if err != nil {
		return vc.Ref{}, "", err
	}
	finder := find.NewFinder(client, false)
	dc, err := finder.DatacenterOrDefault(ctx, query.Get("dcPath"))
	if err != nil {
		return vc.Ref{}, "", err
	}
	found, err := finder.SetDatacenter(dc).DatastoreOrDefault(ctx, query.Get("dsName"))
	if err != nil {
		return vc.Ref{}, "", err
	}
	ref = found.Reference()
	if ds, ok := s.ctx.Map.Get(ref).(*simulator.Datastore); ok {
		vc.Fresh(s.ctx).WithLock(ds, func() { dir = ds.Summary.Url })
	}
	return ref, dir, nil
}
