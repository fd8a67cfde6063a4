package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

const mib = 1 << 20

func manager() ref { return cns.CnsVolumeManagerInstance }

func volumeID(id string) cnstypes.CnsVolumeId { return cnstypes.CnsVolumeId{Id: id} }

// Volume implements [volume.Store].
func (s *Store) Volume(ctx context.Context, id string) (v volume.Volume, err error) {
	defer s.observe("", "volume", time.Now(), &err)
	if id == "" {
		return v, fmt.Errorf("volume id: %w: empty", volume.ErrInvalid)
	}
	err = s.atVCenterOf(ctx, id, func(c *conn) (err error) {
		v, err = c.volume(ctx, id)
		return err
	})
	return v, err
}

// volume finds a volume in this vCenter.
func (c *conn) volume(ctx context.Context, id string) (v volume.Volume, err error) {
	defer wrapError(c, &err, "volume %s", id)
	found, err := c.query(ctx, cnstypes.CnsQueryFilter{VolumeIds: []cnstypes.CnsVolumeId{volumeID(id)}})
	if err != nil {
		return volume.Volume{}, err
	}
	for _, f := range found {
		if f.VolumeId.Id == id {
			return c.toVolume(f), nil
		}
	}
	return volume.Volume{}, volume.ErrNotFound
}

// toVolume converts a CNS volume.
func (c *conn) toVolume(v cnstypes.CnsVolume) volume.Volume {
	u := volume.Volume{
		ID: v.VolumeId.Id, Name: v.Name, VCenter: c.name(), DatastoreURL: v.DatastoreUrl, Policy: v.StoragePolicyId,
		Healthy: healthy(v),
	}
	if v.BackingObjectDetails != nil {
		u.Capacity = v.BackingObjectDetails.GetCnsBackingObjectDetails().CapacityInMb * mib
	}
	if b, ok := v.BackingObjectDetails.(*cnstypes.CnsBlockBackingDetails); ok {
		u.File = b.BackingDiskPath
	}
	return u
}

// healthy returns the health of a volume and of its datastore; unknown counts as healthy.
func healthy(v cnstypes.CnsVolume) bool {
	access := strings.ToLower(v.DatastoreAccessibilityStatus)
	return !strings.EqualFold(v.HealthStatus, "red") &&
		access != "red" && access != "inaccessible" && !strings.HasPrefix(access, "not")
}

func isBlock(v cnstypes.CnsVolume) bool {
	return v.VolumeType == "" || v.VolumeType == string(cnstypes.CnsVolumeTypeBlock)
}

// Volumes implements [volume.Store]. It makes one call per vCenter for a page of volumes and one for the devices of its nodes.
func (s *Store) Volumes(ctx context.Context) (volumes []volume.Volume, attached []volume.Attached, err error) {
	defer s.observe("", "volumes", time.Now(), &err)
	conns := s.conns()
	found, errs := each(conns, func(c *conn) (l listing, err error) {
		defer wrapError(c, &err, "list volumes")
		return c.list(ctx, s.opts.Cluster.ID)
	})
	for i, l := range found {
		for _, v := range l.volumes {
			s.locations.put(v.ID, conns[i])
		}
		volumes, attached = append(volumes, l.volumes...), append(attached, l.attached...)
	}
	slices.SortFunc(volumes, func(a, b volume.Volume) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(attached, byVolume)
	return volumes, attached, errors.Join(errs...)
}

// Attachments implements [volume.Store]. It calls only the volume's vCenter.
func (s *Store) Attachments(ctx context.Context, id string) (on []volume.Attached, err error) {
	defer s.observe("", "attachments", time.Now(), &err)
	if id == "" {
		return nil, fmt.Errorf("volume id: %w: empty", volume.ErrInvalid)
	}
	err = s.atVCenterOf(ctx, id, func(c *conn) (err error) {
		defer wrapError(c, &err, "nodes of volume %s", id)
		if _, err := c.volume(ctx, id); err != nil {
			return err
		}
		nodes, err := c.opts.Nodes(c.name())
		if err != nil {
			return err
		}
		all, err := c.attached(ctx, nodes)
		on = slices.DeleteFunc(all, func(a volume.Attached) bool { return a.Volume != id })
		return err
	})
	slices.SortFunc(on, byVolume)
	return on, err
}

func byVolume(a, b volume.Attached) int {
	return cmp.Or(cmp.Compare(a.Volume, b.Volume), cmp.Compare(a.Node.ID, b.Node.ID))
}

// listing is one vCenter's part of the volumes.
type listing struct {
	volumes  []volume.Volume
	attached []volume.Attached
}

// list also fails if the list of nodes is incomplete: volumes attached to the missing ones would look detached.
func (c *conn) list(ctx context.Context, cluster string) (listing, error) {
	nodes, err := c.opts.Nodes(c.name())
	if err != nil {
		return listing{}, err
	}
	found, err := c.query(ctx, cnstypes.CnsQueryFilter{ContainerClusterIds: []string{cluster}})
	if err != nil {
		return listing{}, err
	}
	var l listing
	ours := map[string]bool{}
	for _, v := range found {
		if isBlock(v) {
			ours[v.VolumeId.Id] = true
			l.volumes = append(l.volumes, c.toVolume(v))
		}
	}
	if len(ours) == 0 {
		return l, nil
	}
	all, err := c.attached(ctx, nodes)
	if err != nil {
		return listing{}, err
	}
	for _, a := range all {
		if ours[a.Volume] {
			l.attached = append(l.attached, a)
		}
	}
	return l, nil
}

// observed calls OnCall for the calls that pass through next.
func (c *conn) observed(next soap.RoundTripper) soap.RoundTripper {
	if c.opts.OnCall == nil {
		return next
	}
	return observer{next, c}
}

type observer struct {
	next soap.RoundTripper
	conn *conn
}

// RoundTrip implements [soap.RoundTripper].
func (o observer) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	began := time.Now()
	err := o.next.RoundTrip(ctx, req, res)
	method := strings.TrimSuffix(reflect.TypeOf(req).Elem().Name(), "Body")
	o.conn.opts.OnCall(o.conn.name(), vcenter.Call{Method: method, Result: callResult(ctx, err), Duration: time.Since(began)})
	return err
}

// callResult returns the [vcenter.Call] result.
func callResult(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return "ok"
	case soap.IsSoapFault(err):
		return "error"
	case errors.Is(ctx.Err(), context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "unreachable"
}
