package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/cns"
	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

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
	switch b := v.BackingObjectDetails.(type) {
	case *cnstypes.CnsBlockBackingDetails:
		u.File = b.BackingDiskPath
	case *cnstypes.CnsVsanFileShareBackingDetails:
		for _, p := range b.AccessPoints {
			if p.Key == "NFSv4.1" {
				u.Export = p.Value
			}
		}
	}
	return u
}

// healthy returns the health of a volume and of its datastore; unknown counts as healthy.
func healthy(v cnstypes.CnsVolume) bool {
	access := strings.ToLower(v.DatastoreAccessibilityStatus)
	return !strings.EqualFold(v.HealthStatus, "red") &&
		access != "red" && access != "inaccessible" && !strings.HasPrefix(access, "not")
}

// healthUnknown reports whether CNS does not know the health of a volume.
func healthUnknown(v cnstypes.CnsVolume) bool {
	return healthy(v) && (v.HealthStatus == "" || strings.EqualFold(v.HealthStatus, "unknown"))
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
		if errs[i] == nil {
			there := map[string]bool{}
			for _, a := range l.attached {
				there[a.Volume] = true
			}
			s.locations.verifyOthers(conns[i].name(), there)
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
	if err == nil && len(on) == 0 {
		s.locations.verify(id)
	}
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

var errNoResult = errors.New("the task ended without a result")

// run starts a task and waits for its end. The error is the call's, or the task's fault.
func (c *conn) run(ctx context.Context, begin func(context.Context, *services) (ref, error)) (types.TaskInfo, error) {
	var id ref
	err := c.call(ctx, func(ctx context.Context, s *services) (err error) {
		id, err = begin(ctx, s)
		return err
	})
	if err != nil {
		return types.TaskInfo{}, err
	}
	info, err := c.tasks.wait(ctx, id)
	if err != nil {
		return info, fmt.Errorf("task %s: %w", id.Value, err)
	}
	if info.State == types.TaskInfoStateError {
		if f := fromResult(info.Error); f != nil {
			return info, f
		}
		return info, fmt.Errorf("task %s: ended in an error without a fault", id.Value)
	}
	return info, nil
}

// operate is run for CNS operations on one object, whose result contains its outcome. It may return the result together with an
// error.
func (c *conn) operate(ctx context.Context, begin func(context.Context, *services) (ref, error)) (cnstypes.BaseCnsVolumeOperationResult, error) {
	info, err := c.run(ctx, begin)
	if err != nil {
		return nil, err
	}
	batch, ok := info.Result.(cnstypes.CnsVolumeOperationBatchResult)
	if !ok || len(batch.VolumeResults) == 0 || batch.VolumeResults[0] == nil {
		return nil, errNoResult
	}
	result := batch.VolumeResults[0]
	if f := fromResult(result.GetCnsVolumeOperationResult().Fault); f != nil {
		return result, f
	}
	return result, nil
}

// query queries all pages of volumes from CNS.
func (c *conn) query(ctx context.Context, filter cnstypes.CnsQueryFilter) ([]cnstypes.CnsVolume, error) {
	var found []cnstypes.CnsVolume
	limit := int64(c.opts.Page)
	for offset := int64(0); ; {
		filter.Cursor = &cnstypes.CnsCursor{Offset: offset, Limit: limit}
		var res *cnstypes.CnsQueryVolumeResponse
		err := c.call(ctx, func(ctx context.Context, s *services) (err error) {
			res, err = cnsmethods.CnsQueryVolume(ctx, s.cns, &cnstypes.CnsQueryVolume{This: manager(), Filter: &filter})
			return err
		})
		if err != nil {
			return nil, err
		}
		page := res.Returnval
		found = append(found, page.Volumes...)
		next := page.Cursor.Offset
		if len(page.Volumes) == 0 || next <= offset || next >= page.Cursor.TotalRecords {
			return found, nil
		}
		offset = next
	}
}

// Datastores returns the datastores with that name in all vCenters, each with its datacenter, because names are unique only per
// datacenter. If none exists, the error is volume.ErrNoDatastore. If a vCenter does not respond, it is volume.ErrUnavailable,
// even if others have one.
func (s *Store) Datastores(ctx context.Context, name string) (all []volume.Datastore, err error) {
	defer s.observe("", "datastores", time.Now(), &err)
	found, errs := each(s.conns(), func(c *conn) (all []volume.Datastore, err error) {
		all, err = c.datastores(ctx, name)
		wrapError(c, &err, "datastores named %q", name)
		return all, err
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if all = slices.Concat(found...); len(all) == 0 {
		return nil, fmt.Errorf("%w: no datastore is named %q in %s", volume.ErrNoDatastore, name, s.names())
	}
	return all, nil
}

func (c *conn) datastores(ctx context.Context, name string) ([]volume.Datastore, error) {
	var found []mo.Datastore
	err := c.call(ctx, func(ctx context.Context, s *services) error {
		all, err := view.NewManager(s.vim).CreateContainerView(ctx, s.vim.ServiceContent.RootFolder, []string{"Datastore"}, true)
		if err != nil {
			return err
		}
		defer func() { _ = all.Destroy(ctx) }() // otherwise it ends with the session
		return all.Retrieve(ctx, []string{"Datastore"}, []string{"name", "summary"}, &found)
	})
	if err != nil {
		return nil, err
	}
	var all []volume.Datastore
	for _, d := range found {
		if d.Name != name {
			continue
		}
		in, err := c.datacenter(ctx, d.Self)
		if err != nil {
			return nil, err
		}
		all = append(all, volume.Datastore{
			VCenter: c.name(), Ref: d.Self.Value, Name: d.Name, URL: d.Summary.Url, Datacenter: in,
			Capacity: d.Summary.Capacity, Free: d.Summary.FreeSpace,
		})
	}
	return all, nil
}

// datacenter returns the inventory path of an object's datacenter, or "".
func (c *conn) datacenter(ctx context.Context, of ref) (string, error) {
	var above []mo.ManagedEntity
	err := c.call(ctx, func(ctx context.Context, s *services) (err error) {
		above, err = mo.Ancestors(ctx, s.vim, s.vim.ServiceContent.PropertyCollector, of)
		return err
	})
	if err != nil {
		return "", err
	}
	in := ""
	for _, e := range above[min(1, len(above)):] { // paths do not contain the root folder
		in = path.Join(in, e.Name)
		if e.Self.Type == "Datacenter" {
			return in, nil
		}
	}
	return "", nil
}
