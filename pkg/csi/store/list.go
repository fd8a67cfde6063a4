package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	cnstypes "github.com/vmware/govmomi/cns/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Volumes implements [volume.Store]. It costs a vCenter one call for a page of volumes and one for the devices of the
// nodes that it has.
func (s *Store) Volumes(ctx context.Context) (volumes []volume.Volume, attached []volume.Attached, err error) {
	defer s.observe("", "volumes", time.Now(), &err)
	conns := s.conns()
	found, errs := each(conns, func(c *conn) (l listing, err error) {
		defer about(c, &err, "list volumes")
		return c.list(ctx, s.opts.Cluster.ID)
	})
	for i, l := range found {
		for _, v := range l.volumes {
			s.holders.put(v.ID, conns[i])
		}
		volumes, attached = append(volumes, l.volumes...), append(attached, l.attached...)
	}
	slices.SortFunc(volumes, func(a, b volume.Volume) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(attached, byVolume)
	return volumes, attached, errors.Join(errs...)
}

// Attachments implements [volume.Store]. It asks the volume's vCenter alone.
func (s *Store) Attachments(ctx context.Context, id string) (on []volume.Attached, err error) {
	defer s.observe("", "attachments", time.Now(), &err)
	if id == "" {
		return nil, fmt.Errorf("volume id: %w: empty", volume.ErrInvalid)
	}
	err = s.at(ctx, id, func(c *conn) (err error) {
		defer about(c, &err, "nodes of volume %s", id)
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

// listing is what one vCenter has of the cluster's.
type listing struct {
	volumes  []volume.Volume
	attached []volume.Attached
}

// list fails where the nodes are in doubt, too: what is attached to one that is not known would look detached.
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
			l.volumes = append(l.volumes, c.understood(v))
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
