package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// CreateSnapshot takes a snapshot of a volume, or returns the existing one with that name. The snapshot is ready to use.
func (c *Controller) CreateSnapshot(ctx context.Context, r *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	name, of := r.GetName(), r.GetSourceVolumeId()
	switch {
	case name == "":
		return nil, invalid("name: missing")
	case of == "":
		return nil, invalid("source volume id: missing")
	}
	if err := checkSnapshotParameters(r.GetParameters()); err != nil {
		return nil, err
	}
	end, err := c.flight.begin("create snapshot", name)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := c.checkNameFree(ctx, name, of); err != nil {
		return nil, err
	}
	s, err := c.store.Snapshot(ctx, of, name)
	if err != nil {
		return nil, failed(err, "take snapshot %q of volume %s", name, of)
	}
	c.taken.add(name, s.SnapshotRef)
	return &csi.CreateSnapshotResponse{Snapshot: csiSnapshot(s)}, nil
}

// checkNameFree refuses a name that a snapshot of another volume has. vSphere's snapshot names are unique only per volume, so this
// covers snapshots since the driver started; Kubernetes derives the names from UIDs, so they never repeat.
func (c *Controller) checkNameFree(ctx context.Context, name, of string) error {
	ref, ok := c.taken.get(name)
	if !ok || ref.Volume == of {
		return nil
	}
	switch all, err := c.store.Snapshots(ctx, ref); {
	case errors.Is(err, volume.ErrNotFound) || err == nil && len(all) == 0:
		return nil
	case err != nil:
		return failed(err, "take snapshot %q of volume %s", name, of)
	}
	return status.Errorf(codes.AlreadyExists, "take snapshot %q of volume %s: volume %s has a snapshot with that name: use another name", name, of, ref.Volume)
}

// DeleteSnapshot deletes a snapshot. It succeeds if the snapshot does not exist or the id is invalid.
func (c *Controller) DeleteSnapshot(ctx context.Context, r *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	id := r.GetSnapshotId()
	if id == "" {
		return nil, invalid("snapshot id: missing")
	}
	v, s, err := names.SplitSnapshotID(id)
	if err != nil {
		return &csi.DeleteSnapshotResponse{}, nil
	}
	end, err := c.flight.begin("delete snapshot", id)
	if err != nil {
		return nil, err
	}
	defer end()
	ref := volume.SnapshotRef{Volume: v, Snapshot: s}
	if err := c.store.DeleteSnapshot(ctx, ref); err != nil && !errors.Is(err, volume.ErrNotFound) {
		return nil, failed(err, "delete snapshot %s of volume %s", s, v)
	}
	c.taken.remove(ref)
	return &csi.DeleteSnapshotResponse{}, nil
}

// csiSnapshot converts a snapshot to CSI.
func csiSnapshot(s volume.Snapshot) *csi.Snapshot {
	created := s.Created
	if created.IsZero() {
		created = time.Unix(0, 0) // CSI requires a time
	}
	return &csi.Snapshot{
		SnapshotId:     names.SnapshotID(s.Volume, s.Snapshot),
		SourceVolumeId: s.Volume,
		SizeBytes:      s.Capacity,
		CreationTime:   timestamppb.New(created),
		ReadyToUse:     true,
	}
}

// checkSnapshotParameters refuses parameters of a VolumeSnapshotClass except the sidecar's own.
func checkSnapshotParameters(given map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !strings.HasPrefix(strings.ToLower(key), sidecarPrefix) {
			return invalid("parameter %s: unknown: snapshots have no parameters", key)
		}
	}
	return nil
}

const maxTaken = 4096

// snapshotNames maps the names of the latest snapshots to their volumes. The zero value is ready to use.
type snapshotNames struct {
	mu     sync.Mutex
	byName map[string]volume.SnapshotRef
	order  []string // of byName, oldest first
}

func (t *snapshotNames) get(name string) (volume.SnapshotRef, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ref, ok := t.byName[name]
	return ref, ok
}

func (t *snapshotNames) add(name string, ref volume.SnapshotRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName == nil {
		t.byName = map[string]volume.SnapshotRef{}
	}
	if _, ok := t.byName[name]; !ok {
		t.order = append(t.order, name)
	}
	t.byName[name] = ref
	if len(t.order) > maxTaken {
		delete(t.byName, t.order[0])
		t.order = t.order[1:]
	}
}

func (t *snapshotNames) remove(ref volume.SnapshotRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, name := range t.order {
		if t.byName[name] == ref {
			delete(t.byName, name)
			t.order = append(t.order[:i:i], t.order[i+1:]...)
			return
		}
	}
}

// ListSnapshots lists one snapshot by id, those of a volume, or all, in the order of their ids.
func (c *Controller) ListSnapshots(ctx context.Context, r *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse, error) {
	if _, _, err := page(nil, snapshotID, r.GetStartingToken(), r.GetMaxEntries()); err != nil {
		return nil, err
	}
	of := volume.SnapshotRef{Volume: r.GetSourceVolumeId()}
	if id := r.GetSnapshotId(); id != "" {
		v, s, err := names.SplitSnapshotID(id)
		if err != nil || of.Volume != "" && of.Volume != v {
			return &csi.ListSnapshotsResponse{}, nil
		}
		of = volume.SnapshotRef{Volume: v, Snapshot: s}
	}
	all, err := c.store.Snapshots(ctx, of)
	if err != nil && !errors.Is(err, volume.ErrNotFound) {
		return nil, failed(err, "list snapshots")
	}
	all, next, err := page(all, snapshotID, r.GetStartingToken(), r.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	answer := &csi.ListSnapshotsResponse{NextToken: next}
	for _, s := range all {
		answer.Entries = append(answer.Entries, &csi.ListSnapshotsResponse_Entry{Snapshot: csiSnapshot(s)})
	}
	return answer, nil
}

func snapshotID(s volume.Snapshot) string { return names.SnapshotID(s.Volume, s.Snapshot) }
