package migrated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Delete implements [volume.Store]. A disk that CNS does not manage is registered first, because CNS checks whether it may be
// deleted.
func (s *Store) Delete(ctx context.Context, id string) error {
	is, err := s.cnsID(ctx, id)
	if errors.Is(err, volume.ErrNotFound) && IsPath(id) {
		return nil
	}
	if err == nil {
		err = s.CNS.Delete(ctx, is)
	}
	if err != nil || !IsPath(id) {
		return err
	}
	return s.cfg.Records.Delete(ctx, id)
}

// Volume implements [volume.Store]; the volume's id is the requested one.
func (s *Store) Volume(ctx context.Context, id string) (v volume.Volume, err error) {
	err = s.withVolume(ctx, id, func(is string) (err error) {
		v, err = s.CNS.Volume(ctx, is)
		v.ID = id
		return err
	})
	return v, err
}

// Attach implements [volume.Store].
func (s *Store) Attach(ctx context.Context, id string, n volume.Node) (disk string, err error) {
	err = s.withVolume(ctx, id, func(is string) (err error) {
		disk, err = s.CNS.Attach(ctx, is, n)
		return err
	})
	return disk, err
}

// Detach implements [volume.Store].
func (s *Store) Detach(ctx context.Context, id string, n volume.Node) error {
	is, err := s.cnsID(ctx, id)
	if errors.Is(err, volume.ErrNotFound) && IsPath(id) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.CNS.Detach(ctx, is, n)
}

// Expand implements [volume.Store]; it refuses paths.
func (s *Store) Expand(ctx context.Context, id string, bytes int64) (int64, error) {
	if IsPath(id) {
		return 0, errInTree(id, "it cannot be expanded")
	}
	return s.CNS.Expand(ctx, id, bytes)
}

// Snapshot implements [volume.Store]; it refuses paths.
func (s *Store) Snapshot(ctx context.Context, id, name string) (volume.Snapshot, error) {
	if IsPath(id) {
		return volume.Snapshot{}, errInTree(id, "it cannot have snapshots")
	}
	return s.CNS.Snapshot(ctx, id, name)
}

// errInTree returns the error for operations that upstream refuses too (vanilla/controller.go, "cannot expand migrated vSphere
// volume").
func errInTree(id, what string) error {
	return fmt.Errorf("in-tree volume %q: %w: %s, because its PersistentVolume names the file of a disk, not a volume", id, volume.ErrInTree, what)
}

// Snapshots implements [volume.Store]; paths have no snapshots.
func (s *Store) Snapshots(ctx context.Context, of volume.SnapshotRef) ([]volume.Snapshot, error) {
	if IsPath(of.Volume) {
		return nil, nil
	}
	return s.CNS.Snapshots(ctx, of)
}

// Volumes implements [volume.Store]. Volumes with a path have it as id, because Kubernetes knows them by it.
func (s *Store) Volumes(ctx context.Context) ([]volume.Volume, []volume.Attached, error) {
	paths, err := s.cfg.Records.Paths(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, on, err := s.CNS.Volumes(ctx)
	if len(paths) == 0 {
		return all, on, err
	}
	for i := range all {
		if path := paths[all[i].ID]; path != "" {
			all[i].ID = path
		}
	}
	for i := range on {
		if path := paths[on[i].Volume]; path != "" {
			on[i].Volume = path
		}
	}
	slices.SortFunc(all, func(a, b volume.Volume) int { return strings.Compare(a.ID, b.ID) })
	return all, on, err
}

// Attachments implements [volume.Store].
func (s *Store) Attachments(ctx context.Context, id string) (on []volume.Attached, err error) {
	err = s.withVolume(ctx, id, func(is string) (err error) {
		on, err = s.CNS.Attachments(ctx, is)
		for i := range on {
			on[i].Volume = id
		}
		return err
	})
	return on, err
}

// SetMetadata implements [volume.Store].
func (s *Store) SetMetadata(ctx context.Context, id string, m volume.Metadata) error {
	return s.withVolume(ctx, id, func(is string) error { return s.CNS.SetMetadata(ctx, is, m) })
}
