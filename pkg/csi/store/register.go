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

// Register makes an existing virtual disk a volume, attached or not, without changing its content, and returns the volume. If the
// disk is a volume already, it returns that. on is a datastore from [Store.Datastores], file the path there
// ("kubevols/a.vmdk"), and name the name of a new volume. Error: volume.ErrNotFound if the file does not exist.
//
// CNS gets the URL of the file, as from upstream's driver (pkg/apis/migration/migration.go).
func (s *Store) Register(ctx context.Context, name string, on volume.Datastore, file string) (v volume.Volume, err error) {
	defer s.observe(on.VCenter, "register", time.Now(), &err)
	c, err := s.conn(on.VCenter)
	if err != nil {
		return v, err
	}
	what := fmt.Sprintf("register disk [%s] %s of datacenter %s", on.Name, file, on.Datacenter)
	return join(ctx, s, "file "+on.VCenter+"/"+on.Ref+"/"+file, what, func(ctx context.Context) (v volume.Volume, err error) {
		defer wrapError(c, &err, "%s", what)
		result, err := c.operate(ctx, func(ctx context.Context, svc *services) (ref, error) {
			res, err := cnsmethods.CnsCreateVolume(ctx, svc.cns, &cnstypes.CnsCreateVolume{
				This: manager(), CreateSpecs: []cnstypes.CnsVolumeCreateSpec{registerSpec(s.opts.Cluster, svc, name, on, file)},
			})
			if err != nil {
				return ref{}, err
			}
			return res.Returnval, nil
		})
		id := existingID(err)
		switch {
		case id != "":
		case fileMissing(err):
			return v, fmt.Errorf("%w: the disk does not exist: %s", volume.ErrNotFound, faultMessage(err))
		case err != nil:
			return v, err
		default:
			id = result.GetCnsVolumeOperationResult().VolumeId.Id
		}
		if v, err = c.volume(ctx, id); err == nil {
			s.locations.put(id, c)
		}
		return v, err
	})
}

// registerSpec returns the CNS request for a disk.
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

// faultMessage returns the vCenter's message of a fault without its kind.
func faultMessage(err error) string {
	var f *faultError
	if errors.As(err, &f) && f.message != "" {
		return f.message
	}
	return err.Error()
}

// fileMissing reports that the file does not exist. That fault may be the cause of another.
func fileMissing(err error) bool {
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

// Protect keeps a volume's disk when its VM is destroyed, which is not everywhere the default for disks that CNS did not
// create. A vCenter without this feature is not an error, because there it is the default.
func (s *Store) Protect(ctx context.Context, id string) (err error) {
	defer s.observe("", "protect", time.Now(), &err)
	err = s.atVCenterOf(ctx, id, func(c *conn) (err error) {
		defer wrapError(c, &err, "keep the disk of volume %s when its VM is destroyed", id)
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
		s.opts.Logger.Warn("vcenter cannot protect the disk: it is deleted with its vm", "volume", id, "err", err)
		return nil
	}
	return err
}

// Expand implements [volume.Store].
func (s *Store) Expand(ctx context.Context, id string, bytes int64) (size int64, err error) {
	defer s.observe("", "expand", time.Now(), &err)
	if id == "" || bytes < 0 {
		return 0, fmt.Errorf("expand volume %q to %d bytes: %w", id, bytes, volume.ErrInvalid)
	}
	what := fmt.Sprintf("expand volume %s to %d MiB", id, mebibytes(bytes))
	return join(ctx, s, id, what, func(ctx context.Context) (size int64, err error) {
		err = s.atVCenterOf(ctx, id, func(c *conn) (err error) {
			defer wrapError(c, &err, "%s", what)
			size, err = c.expand(ctx, id, mebibytes(bytes))
			return err
		})
		return size, err
	})
}

func (c *conn) expand(ctx context.Context, id string, capacity int64) (size int64, err error) {
	v, err := c.volume(ctx, id)
	if err != nil {
		return 0, err
	}
	if v.Capacity >= capacity*mib {
		return v.Capacity, nil
	}
	_, err = c.operate(ctx, func(ctx context.Context, s *services) (ref, error) {
		res, err := cnsmethods.CnsExtendVolume(ctx, s.cns, &cnstypes.CnsExtendVolume{
			This: manager(), ExtendSpecs: []cnstypes.CnsVolumeExtendSpec{{VolumeId: volumeID(id), CapacityInMb: capacity}},
		})
		if err != nil {
			return ref{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		return 0, c.checkSnapshots(ctx, id, err)
	}
	return capacity * mib, nil
}

// Delete implements [volume.Store].
func (s *Store) Delete(ctx context.Context, id string) (err error) {
	defer s.observe("", "delete", time.Now(), &err)
	if id == "" {
		return fmt.Errorf("delete volume: %w: empty id", volume.ErrInvalid)
	}
	return s.remove(ctx, id, "delete volume", true)
}

// Unregister removes a volume from CNS, and keeps its disk or share. It returns no error if CNS does not have the volume.
func (s *Store) Unregister(ctx context.Context, id string) (err error) {
	defer s.observe("", "unregister", time.Now(), &err)
	return s.remove(ctx, id, "remove from CNS, without its disk, volume", false)
}

func (s *Store) remove(ctx context.Context, id, what string, withDisk bool) error {
	_, err := join(ctx, s, id, what+" "+id, func(ctx context.Context) (none struct{}, err error) {
		err = s.atVCenterOf(ctx, id, func(c *conn) (err error) {
			defer wrapError(c, &err, "%s %s", what, id)
			return c.delete(ctx, id, withDisk)
		})
		if err == nil || errors.Is(err, volume.ErrNotFound) {
			s.locations.forget(id)
			return none, nil
		}
		return none, err
	})
	return err
}

func (c *conn) delete(ctx context.Context, id string, withDisk bool) (err error) {
	_, err = c.operate(ctx, func(ctx context.Context, s *services) (ref, error) {
		res, err := cnsmethods.CnsDeleteVolume(ctx, s.cns, &cnstypes.CnsDeleteVolume{
			This: manager(), VolumeIds: []cnstypes.CnsVolumeId{volumeID(id)}, DeleteDisk: withDisk,
		})
		if err != nil {
			return ref{}, err
		}
		return res.Returnval, nil
	})
	return c.checkSnapshots(ctx, id, err)
}

// checkSnapshots checks whether snapshots are the reason of a failure, if the fault does not contain it.
func (c *conn) checkSnapshots(ctx context.Context, id string, err error) error {
	var f *faultError
	if !errors.As(err, &f) || f.kind != nil && !errors.Is(f.kind, volume.ErrState) && !errors.Is(f.kind, volume.ErrInvalid) {
		return err
	}
	if found, listErr := c.snapshots(ctx, volume.SnapshotRef{Volume: id}); listErr == nil && len(found) > 0 {
		f.kind = volume.ErrSnapshots
		return fmt.Errorf("%d of them: %w", len(found), err)
	}
	return err
}
