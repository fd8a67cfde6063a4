package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Register makes a volume of a virtual disk that there is, as it lies there, on a VM or on none, and returns it; of one that
// is a volume already, that one. The content is not touched. on is a datastore as [Store.Datastores] returns it, file the
// path there ("kubevols/a.vmdk"), and name what a new volume is called. Error: volume.ErrNotFound when there is no such file.
//
// CNS is told of the file by its URL, as upstream's driver tells it (pkg/apis/migration/migration.go).
func (s *Store) Register(ctx context.Context, name string, on volume.Datastore, file string) (v volume.Volume, err error) {
	defer s.observe(on.VCenter, "register", time.Now(), &err)
	c, err := s.conn(on.VCenter)
	if err != nil {
		return v, err
	}
	what := fmt.Sprintf("register disk [%s] %s of datacenter %s", on.Name, file, on.Datacenter)
	return join(ctx, s, "file "+on.VCenter+"/"+on.Ref+"/"+file, what, func(ctx context.Context) (v volume.Volume, err error) {
		defer about(c, &err, "%s", what)
		result, err := c.operate(ctx, func(ctx context.Context, svc *services) (ref, error) {
			res, err := cnsmethods.CnsCreateVolume(ctx, svc.cns, &cnstypes.CnsCreateVolume{
				This: manager(), CreateSpecs: []cnstypes.CnsVolumeCreateSpec{registerSpec(s.opts.Cluster, svc, name, on, file)},
			})
			if err != nil {
				return ref{}, err
			}
			return res.Returnval, nil
		})
		id := already(err)
		switch {
		case id != "":
		case noFile(err):
			return v, fmt.Errorf("%w: there is no such disk: %s", volume.ErrNotFound, said(err))
		case err != nil:
			return v, err
		default:
			id = result.GetCnsVolumeOperationResult().VolumeId.Id
		}
		if v, err = c.volume(ctx, id); err == nil {
			s.holders.put(id, c)
		}
		return v, err
	})
}

// registerSpec is what CNS is asked for.
func registerSpec(cluster Cluster, svc *services, name string, on volume.Datastore, file string) cnstypes.CnsVolumeCreateSpec {
	at := url.URL{
		Scheme: "https", Host: svc.vim.URL().Host, Path: "/folder/" + file,
		RawQuery: "dcPath=" + url.PathEscape(strings.Trim(on.Datacenter, "/")) + "&dsName=" + url.PathEscape(on.Name),
	}
	return cnstypes.CnsVolumeCreateSpec{
		Name:                 name,
		VolumeType:           string(cnstypes.CnsVolumeTypeBlock),
		Metadata:             metadata(cluster, svc.user, volume.Metadata{}),
		BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{BackingDiskUrlPath: at.String()},
	}
}

// said is what the vCenter says of a fault, without what kind of failure it would be elsewhere.
func said(err error) string {
	var f *faultError
	if errors.As(err, &f) && f.message != "" {
		return f.message
	}
	return err.Error()
}

// noFile says that there is no file to make a volume of. The fault may be another's cause.
func noFile(err error) bool {
	for f := faultOf(err); f != nil; {
		switch f.(type) {
		case *types.FileNotFound, *types.NotFound:
			return true
		}
		m := f.GetMethodFault()
		if m == nil || m.FaultCause == nil {
			return false
		}
		f = m.FaultCause.Fault
	}
	return false
}

// Protect has a volume's disk outlive the VM that it is on when that is destroyed, which the disks that CNS has not made do
// not everywhere. A vCenter that does not know of that is no error: there, nobody asks for it.
func (s *Store) Protect(ctx context.Context, id string) (err error) {
	defer s.observe("", "protect", time.Now(), &err)
	err = s.at(ctx, id, func(c *conn) (err error) {
		defer about(c, &err, "keep the disk of volume %s when its VM is destroyed", id)
		return c.call(ctx, func(ctx context.Context, svc *services) error {
			_, err := cnsmethods.CnsSetVolumeControlFlags(ctx, svc.cns, &cnstypes.CnsSetVolumeControlFlags{
				This: manager(), ControlFlagsSpecs: []cnstypes.CnsVolumeControlFlagsSpec{{
					VolumeId: volumeID(id), ControlFlags: []string{string(cnstypes.CnsVolumeControlFlagsKeepAfterDeleteVm)},
				}},
			})
			return err
		})
	})
	if errors.Is(err, volume.ErrNotSupported) {
		s.opts.Logger.Warn("disk is deleted with its VM", "volume", id, "err", err)
		return nil
	}
	return err
}
