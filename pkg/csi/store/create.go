package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"
	vsanfs "github.com/vmware/govmomi/vsan/vsanfs/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Create implements [volume.Store]. An earlier attempt, or an earlier process, may have created a volume with the name in any
// vCenter: all are searched first. A vCenter that is down blocks only creations for which an earlier attempt was made there.
// Create first waits for a task that an earlier attempt left in a vCenter.
//
// Attempts are not persisted. If a driver is killed while a vCenter creates a volume, and cannot reach that vCenter when it
// retries in another one, it creates a second volume. The first one has the cluster's id and no PersistentVolume, and must be
// deleted manually. Waiting for every vCenter instead would let one that is down block all provisioning.
func (s *Store) Create(ctx context.Context, spec volume.Spec) (v volume.Volume, err error) {
	if err := checkSpec(spec); err != nil {
		return v, err
	}
	c, err := s.conn(spec.Datastores[0].VCenter)
	if err != nil {
		return v, err
	}
	defer s.observe(c.name(), "create", time.Now(), &err)
	what := fmt.Sprintf("create volume %q of %d MiB", spec.Name, mebibytes(spec.Capacity))
	if spec.Snapshot.Snapshot != "" {
		what += fmt.Sprintf(" from snapshot %s of volume %s", spec.Snapshot.Snapshot, spec.Snapshot.Volume)
	}
	return join(ctx, s, createKey(spec.Name), what, func(ctx context.Context) (v volume.Volume, err error) {
		if err := s.finish(ctx, createKey(spec.Name)); err != nil {
			return v, fmt.Errorf("%s: %w", what, err)
		}
		v, err = s.existing(ctx, c, spec)
		if errors.Is(err, volume.ErrNotFound) {
			v, err = s.create(ctx, c, spec)
			wrapError(c, &err, "%s", what)
		}
		if err == nil {
			if conn, err := s.conn(v.VCenter); err == nil {
				s.locations.put(v.ID, conn)
			}
		}
		return v, err
	})
}

// checkSpec validates a request.
func checkSpec(spec volume.Spec) error {
	switch {
	case spec.Name == "":
		return fmt.Errorf("create volume: %w: the name is missing", volume.ErrInvalid)
	case spec.Capacity <= 0:
		return fmt.Errorf("create volume %q: %w: capacity of %d bytes", spec.Name, volume.ErrInvalid, spec.Capacity)
	case len(spec.Datastores) == 0:
		return fmt.Errorf("create volume %q: %w: no datastore given", spec.Name, volume.ErrNoDatastore)
	case slices.ContainsFunc(spec.Datastores, func(d volume.Datastore) bool { return d.VCenter != spec.Datastores[0].VCenter }):
		return fmt.Errorf("create volume %q: %w: datastores of several vCenters", spec.Name, volume.ErrInvalid)
	}
	return nil
}

// createKey returns the key of operations on the volume with that name.
func createKey(name string) string { return "name " + name }

func mebibytes(bytes int64) int64 { return (bytes + mib - 1) / mib }

// existing returns the volume that already has the name, or volume.ErrNotFound.
func (s *Store) existing(ctx context.Context, c *conn, spec volume.Spec) (volume.Volume, error) {
	conns := s.conns()
	found, errs := each(conns, func(c *conn) (*volume.Volume, error) { return c.named(ctx, s.opts.Cluster.ID, spec.Name) })
	for i, v := range found {
		if v == nil {
			continue
		}
		s.attempts.remove(createKey(spec.Name))
		if v.Capacity != mebibytes(spec.Capacity)*mib {
			return volume.Volume{}, fmt.Errorf("vcenter %q: create volume %q: %w: volume %s has %d bytes",
				conns[i].name(), spec.Name, volume.ErrExists, v.ID, v.Capacity)
		}
		return *v, nil
	}
	earlier := s.attempts.get(createKey(spec.Name)).vcenter
	for i, err := range errs {
		if err != nil && (conns[i] == c || conns[i].name() == earlier) {
			return volume.Volume{}, fmt.Errorf("vcenter %q: create volume %q: search for an earlier one: %w", conns[i].name(), spec.Name, err)
		}
	}
	return volume.Volume{}, volume.ErrNotFound
}

// named returns the cluster's volume with that name, or nil. Of several, which only concurrent requests can have created, it
// always returns the same.
func (c *conn) named(ctx context.Context, cluster, name string) (*volume.Volume, error) {
	found, err := c.query(ctx, cnstypes.CnsQueryFilter{Names: []string{name}, ContainerClusterIds: []string{cluster}})
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(v cnstypes.CnsVolume) bool { return v.Name != name })
	if len(found) == 0 {
		return nil, nil
	}
	slices.SortFunc(found, func(a, b cnstypes.CnsVolume) int { return cmp.Compare(a.VolumeId.Id, b.VolumeId.Id) })
	v := c.toVolume(found[0])
	return &v, nil
}

// create creates a volume in CNS; the result contains its datastore.
func (s *Store) create(ctx context.Context, c *conn, spec volume.Spec) (volume.Volume, error) {
	a := attempt{vcenter: c.name()}
	s.attempts.note(createKey(spec.Name), a)
	result, err := c.operate(ctx, func(ctx context.Context, svc *services) (ref, error) {
		res, err := cnsmethods.CnsCreateVolume(ctx, svc.cns, &cnstypes.CnsCreateVolume{
			This: manager(), CreateSpecs: []cnstypes.CnsVolumeCreateSpec{createSpec(s.opts.Cluster, svc.user, spec, netPermissions(s.opts.NetPermissions))},
		})
		if err != nil {
			return ref{}, err
		}
		a.task = res.Returnval
		return a.task, nil
	})
	s.attempts.end(createKey(spec.Name), a, err)
	if id := existingID(err); id != "" {
		return c.volume(ctx, id)
	}
	if err != nil {
		return volume.Volume{}, withPlacement(result, spec, err)
	}
	id := result.GetCnsVolumeOperationResult().VolumeId.Id
	v := volume.Volume{
		ID: id, Name: spec.Name, VCenter: c.name(), Capacity: mebibytes(spec.Capacity) * mib, Policy: spec.Policy, Healthy: true,
	}
	if created, ok := result.(*cnstypes.CnsVolumeCreateResult); ok && len(created.PlacementResults) > 0 {
		on := created.PlacementResults[0].Datastore
		for _, d := range spec.Datastores {
			if d.Ref == on.Value {
				v.DatastoreURL = d.URL
			}
		}
	}
	if v.DatastoreURL == "" || spec.Share { // not in the result, like the export
		return c.volume(ctx, id)
	}
	return v, nil
}

// existingID returns the volume for which a creation was refused because it exists.
func existingID(err error) string {
	switch f := faultOf(err).(type) {
	case *cnstypes.CnsVolumeAlreadyExistsFault:
		return f.VolumeId.Id
	case *cnstypes.CnsAlreadyRegisteredFault:
		return f.VolumeId.Id
	}
	return ""
}

// withPlacement adds the result for each datastore to the error of a creation, and the kind if the fault itself has none.
func withPlacement(result cnstypes.BaseCnsVolumeOperationResult, spec volume.Spec, err error) error {
	var f *faultError
	if !errors.As(err, &f) {
		return err
	}
	var said []string
	for _, d := range spec.Datastores {
		said = append(said, d.Name)
	}
	var where strings.Builder
	where.WriteString("datastores " + strings.Join(said, ", "))
	created, ok := result.(*cnstypes.CnsVolumeCreateResult)
	if ok {
		for _, p := range created.PlacementResults {
			for _, pf := range p.PlacementFaults {
				reason := fromResult(pf)
				if reason == nil {
					continue
				}
				fmt.Fprintf(&where, "; %s: %s", datastoreName(p.Datastore, spec), reason)
				if f.kind == nil || errors.Is(reason, volume.ErrNoSpace) {
					f.kind = reason.kind
				}
			}
		}
	}
	return fmt.Errorf("%s: %w", where.String(), err)
}

func datastoreName(d ref, spec volume.Spec) string {
	for _, known := range spec.Datastores {
		if known.Ref == d.Value {
			return known.Name
		}
	}
	return d.Value
}

// netPermissions converts rights to mount shares. As upstream, every client may read and write if none are configured.
func netPermissions(all []volume.NetPermission) (list []vsanfs.VsanFileShareNetPermission) {
	if len(all) == 0 {
		all = []volume.NetPermission{{IPs: "*", Access: string(vsanfs.VsanFileShareAccessTypeREAD_WRITE)}}
	}
	for _, p := range all {
		list = append(list, vsanfs.VsanFileShareNetPermission{Ips: p.IPs, Permissions: vsanfs.VsanFileShareAccessType(p.Access), AllowRoot: !p.RootSquash})
	}
	return list
}

// createSpec returns the CNS request for a volume.
func createSpec(cluster Cluster, user string, spec volume.Spec, permissions []vsanfs.VsanFileShareNetPermission) cnstypes.CnsVolumeCreateSpec {
	c := cnstypes.CnsVolumeCreateSpec{
		Name:       spec.Name,
		VolumeType: string(cnstypes.CnsVolumeTypeBlock),
		Metadata:   metadata(cluster, user, spec.Metadata),
		BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{
			CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: mebibytes(spec.Capacity)},
		},
	}
	for _, d := range spec.Datastores {
		c.Datastores = append(c.Datastores, ref{Type: "Datastore", Value: d.Ref})
	}
	if spec.Share {
		details := new(cnstypes.CnsVsanFileShareBackingDetails)
		details.CapacityInMb = mebibytes(spec.Capacity)
		c.VolumeType, c.BackingObjectDetails = string(cnstypes.CnsVolumeTypeFile), details
		c.CreateSpec = &cnstypes.CnsVSANFileCreateSpec{Permission: permissions}
	}
	if spec.Policy != "" {
		c.Profile = []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: spec.Policy}}
	}
	if spec.Snapshot.Snapshot != "" {
		c.VolumeSource = &cnstypes.CnsSnapshotVolumeSource{
			VolumeId:   volumeID(spec.Snapshot.Volume),
			SnapshotId: cnstypes.CnsSnapshotId{Id: spec.Snapshot.Snapshot},
		}
	}
	return c
}
