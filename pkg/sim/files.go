package sim

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/vmx"
)

const datastorePath = "/folder/"

// files protects the files of datastores: unlike vcsim it requires a session or a password, and the privilege on the datastore. A
// written file replaces the old one, which may have several links: empty files of VMs do (see pkg/sim/inventory).
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
		dc, ref, dir, err := s.datastore(r.Context(), r.URL.Query())
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
		if text := s.configuration(r, dc, ref, dir); text != nil {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
			return
		}
		if r.Method == http.MethodPut && !strings.Contains(r.URL.Path, "..") { // vcsim refuses that
			file := path.Join(dir, strings.TrimPrefix(r.URL.Path, datastorePath))
			if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
				_ = os.Remove(file) // at worst it is overwritten
			}
		}
		next.ServeHTTP(w, r)
	})
}

// datastore returns the datastore of a path to a file with its datacenter, and the directory of its files.
func (s *service) datastore(ctx context.Context, query url.Values) (in, ref vc.Ref, dir string, err error) {
	client, err := vim25.NewClient(ctx, s.vcsim)
	if err != nil {
		return vc.Ref{}, vc.Ref{}, "", err
	}
	finder := find.NewFinder(client, false)
	dc, err := finder.DatacenterOrDefault(ctx, query.Get("dcPath"))
	if err != nil {
		return vc.Ref{}, vc.Ref{}, "", err
	}
	found, err := finder.SetDatacenter(dc).DatastoreOrDefault(ctx, query.Get("dsName"))
	if err != nil {
		return vc.Ref{}, vc.Ref{}, "", err
	}
	ref = found.Reference()
	if ds, ok := s.ctx.Map.Get(ref).(*simulator.Datastore); ok {
		vc.Fresh(s.ctx).WithLock(ds, func() { dir = ds.Summary.Url })
	}
	return dc.Reference(), ref, dir, nil
}

// configuration returns the content of a VM's configuration file, nil if the request is for another file, or for one that a client
// wrote. vcsim's are empty: the VM's configuration is the one in the inventory.
func (s *service) configuration(r *http.Request, dc, store vc.Ref, dir string) []byte {
	name := strings.TrimPrefix(r.URL.Path, datastorePath)
	if r.Method != http.MethodGet && r.Method != http.MethodHead || path.Ext(name) != ".vmx" {
		return nil
	}
	if info, err := os.Stat(path.Join(dir, path.Clean("/"+name))); err != nil || info.Size() > 0 {
		return nil
	}
	ctx := vc.Fresh(s.ctx)
	ds, ok := ctx.Map.Get(store).(*simulator.Datastore)
	if !ok {
		return nil
	}
	where := (&object.DatastorePath{Datastore: ds.Name, Path: name}).String()
	for _, e := range ctx.Map.All("VirtualMachine") {
		vm, ok := e.(*simulator.VirtualMachine)
		if in, found := vc.Datacenter(ctx.Map, e.Reference()); !ok || !found || in != dc {
			continue
		}
		var text []byte
		ctx.WithLock(vm, func() {
			if vm.Config != nil && vm.Config.Files.VmPathName == where {
				text = vmx.Write(vm.Config, s.networkName)
			}
		})
		if text != nil {
			return text
		}
	}
	return nil
}

// networkName returns the name of a network, or "".
func (s *service) networkName(ref vc.Ref) string {
	if pg, ok := s.ctx.Map.Get(ref).(*simulator.DistributedVirtualPortgroup); ok {
		return pg.Name
	}
	return ""
}
