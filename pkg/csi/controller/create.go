package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// CreateVolume creates a volume where the topology, the policy and the datastores allow it, or returns the existing one with
// that name.
func (c *Controller) CreateVolume(ctx context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if r.GetName() == "" {
		return nil, invalid("name: missing")
	}
	w, err := c.wanted(r)
	if err != nil {
		return nil, err
	}
	end, err := c.flight.begin("create volume", r.GetName())
	if err != nil {
		return nil, err
	}
	defer end()
	if err := c.source(ctx, r, &w); err != nil {
		return nil, err
	}
	if err := c.placeInTree(ctx, &w); err != nil {
		return nil, err
	}
	v, err := c.create(ctx, w)
	if err != nil {
		return nil, err
	}
	segments, err := c.reached(ctx, v, w.requirement)
	if err != nil {
		return nil, failed(err, "topology of volume %s on datastore %s of vcenter %q", v.ID, v.DatastoreURL, v.VCenter)
	}
	attributes, err := c.attributes(ctx, w, v)
	if err != nil {
		return nil, err
	}
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{
		VolumeId:           v.ID,
		CapacityBytes:      v.Capacity,
		VolumeContext:      attributes,
		ContentSource:      r.GetVolumeContentSource(),
		AccessibleTopology: topologies(segments),
	}}, nil
}

// reached returns the segments from which a volume is reachable. The volume exists already: after a final error it would be
// orphaned, and without a topology Kubernetes would schedule its pods anywhere. So the error makes the caller retry.
func (c *Controller) reached(ctx context.Context, v volume.Volume, r volume.Requirement) ([]volume.Segment, error) {
	segments, err := c.nodes.SegmentsOf(ctx, v.VCenter, v.DatastoreURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", volume.ErrUnavailable, err)
	case len(segments) == 0 && len(r.Requisite)+len(r.Preferred) > 0:
		return nil, fmt.Errorf("%w: no topology segment exists whose nodes all reach it now", volume.ErrUnavailable)
	}
	return segments, nil
}

// create tries the places in order.
func (c *Controller) create(ctx context.Context, w volumeRequest) (volume.Volume, error) {
	places, err := c.places(ctx, w)
	if err != nil {
		if v, ok := c.earlier(ctx, w.spec, err); ok {
			return v, nil
		}
		if errors.Is(err, volume.ErrNotFound) {
			// The policy or the datastore of the StorageClass does not exist, yet.
			return volume.Volume{}, status.Errorf(codes.Internal, "place for volume %q: %v; create it, or check the parameters of the StorageClass", w.spec.Name, err)
		}
		what := "volume"
		if w.spec.Share {
			what = "file volume (use ReadWriteOnce or ReadWriteOncePod for a disk)"
		}
		return volume.Volume{}, unplaced(err, w, "place for %s %q of %d bytes", what, w.spec.Name, w.spec.Capacity)
	}
	var passed []error
	for _, place := range places {
		spec := w.spec
		spec.Datastores, spec.Policy = place.Datastores, place.PolicyID
		v, err := c.store.Create(ctx, spec)
		if err == nil {
			return v, nil
		}
		err = placeError{place, err}
		if !tryNextPlace(err) {
			return volume.Volume{}, failed(err, "create volume %q of %d bytes", spec.Name, spec.Capacity)
		}
		c.log.Warn("datastores skipped", "volume", spec.Name, "vcenter", place.VCenter, "err", err)
		passed = append(passed, err)
	}
	return volume.Volume{}, unplaced(errors.Join(passed...), w, "create volume %q of %d bytes", w.spec.Name, w.spec.Capacity)
}

// unplaced is [failed] for a volume that no place takes. If the request confines the volume to one segment, as the provisioner
// does for a pod's node with --strict-topology, the code is ResourceExhausted: the provisioner then lets the scheduler choose
// another node.
func unplaced(err error, w volumeRequest, what string, args ...any) error {
	st := status.Convert(failed(err, what, args...))
	full := errors.Is(err, volume.ErrNoSpace) || errors.Is(err, volume.ErrNoDatastore)
	if full && st.Code() == codes.Internal && len(w.requirement.Requisite) == 1 {
		return status.Error(codes.ResourceExhausted, st.Message())
	}
	return st.Err()
}

// earlier returns the volume that an earlier call created, if there is no place for it now: it may have used the last space.
// Otherwise the response would be lost, and the volume would be orphaned.
func (c *Controller) earlier(ctx context.Context, s volume.Spec, why error) (volume.Volume, bool) {
	if !errors.Is(why, volume.ErrNoDatastore) {
		return volume.Volume{}, false
	}
	all, _, err := c.store.Volumes(ctx)
	if err != nil {
		c.log.Warn("cannot search every vcenter for an earlier volume", "volume", s.Name, "err", err)
	}
	for _, v := range all {
		if v.Name == s.Name && v.Capacity == s.Capacity {
			return v, true
		}
	}
	return volume.Volume{}, false
}

// tryNextPlace reports whether another place may be tried. A vCenter that does not respond must not be skipped: it may have
// created the volume, and a second one with that name would be orphaned.
func tryNextPlace(err error) bool {
	for _, doubt := range []error{volume.ErrPending, volume.ErrUnavailable, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, doubt) {
			return false
		}
	}
	for _, cure := range []error{volume.ErrNoSpace, volume.ErrNoDatastore, volume.ErrState, volume.ErrPermission, volume.ErrNotSupported} {
		if errors.Is(err, cure) {
			return true
		}
	}
	return false
}

// places returns where the volume may be created, best first, at least one.
func (c *Controller) places(ctx context.Context, w volumeRequest) ([]volume.Place, error) {
	places, err := c.nodes.Places(ctx, w.requirement)
	if err != nil {
		return nil, err
	}
	if w.on.URL != "" {
		places = onDatastore(places, w.on)
	}
	places = slices.DeleteFunc(places, func(p volume.Place) bool { return len(p.Datastores) == 0 })
	switch {
	case len(places) > 0:
		return places, nil
	case w.on.URL != "":
		return nil, fmt.Errorf("snapshot %s of volume %s: datastore %s of vcenter %q, where the snapshot is, is not among those allowed; "+
			"the scheduler does not consider snapshots: give the pod the node affinity of the snapshot's source volume: %w",
			w.spec.Snapshot.Snapshot, w.spec.Snapshot.Volume, w.on.URL, w.on.VCenter, volume.ErrNoDatastore)
	}
	return nil, volume.ErrNoDatastore
}

// onDatastore limits places to one datastore.
func onDatastore(places []volume.Place, on volume.Datastore) []volume.Place {
	var left []volume.Place
	for _, p := range places {
		if p.VCenter != on.VCenter {
			continue
		}
		p.Datastores = slices.DeleteFunc(slices.Clone(p.Datastores), func(d volume.Datastore) bool { return !sameURL(d.URL, on.URL) })
		left = append(left, p)
	}
	return left
}

// sameURL compares datastore URLs, which vCenters write with a slash at the end and users without.
func sameURL(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, "/"), strings.TrimRight(b, "/"))
}

// placeError is why a place was not usable.
type placeError struct {
	place volume.Place
	err   error
}

func (e placeError) Error() string {
	var on []string
	for _, d := range e.place.Datastores {
		on = append(on, d.Name)
	}
	return fmt.Sprintf("vcenter %q, datastores %s: %v", e.place.VCenter, strings.Join(on, ", "), e.err)
}

func (e placeError) Unwrap() error { return e.err }
