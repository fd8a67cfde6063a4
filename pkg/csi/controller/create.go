package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// CreateVolume makes a volume where the topology, the policy and the datastores allow it, or returns the one of that
// name.
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
	attributes, err := c.attributes(ctx, w, v.ID)
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

// reached returns the segments that reach a volume. The volume is there: with an error that is final it would be forgotten
// about, and without a topology Kubernetes would let its pods go anywhere. So it is asked for again until it can be told.
func (c *Controller) reached(ctx context.Context, v volume.Volume, r volume.Requirement) ([]volume.Segment, error) {
	segments, err := c.nodes.SegmentsOf(ctx, v.VCenter, v.DatastoreURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", volume.ErrUnavailable, err)
	case len(segments) == 0 && len(r.Requisite)+len(r.Preferred) > 0:
		return nil, fmt.Errorf("%w: there is no segment of which all nodes reach it at the moment", volume.ErrUnavailable)
	}
	return segments, nil
}

// wanted is a volume that is asked for.
type wanted struct {
	spec        volume.Spec
	requirement volume.Requirement
	// on is where the volume has to lie for the sake of its source; empty URL for anywhere.
	on     volume.Datastore
	inTree inTree
}

// wanted reads a request.
func (c *Controller) wanted(r *csi.CreateVolumeRequest) (w wanted, err error) {
	if err := checkCapabilities(r.GetVolumeCapabilities()); err != nil {
		return w, err
	}
	if len(r.GetMutableParameters()) > 0 {
		return w, invalid("mutable parameters: this driver does not support volume attributes classes")
	}
	p, err := readParameters(r.GetParameters())
	if err != nil {
		return w, err
	}
	bytes, err := size(r.GetCapacityRange(), defaultSize)
	if err != nil {
		return w, err
	}
	if p.metadata.PV == "" {
		p.metadata.PV = r.GetName() // which is what the provisioner calls it
	}
	w.inTree = p.inTree
	w.spec = volume.Spec{Name: r.GetName(), Capacity: bytes, Metadata: p.metadata}
	w.requirement = volume.Requirement{
		Requisite:    segmentsOf(r.GetAccessibilityRequirements().GetRequisite()),
		Preferred:    segmentsOf(r.GetAccessibilityRequirements().GetPreferred()),
		Policy:       p.policy,
		DatastoreURL: p.datastoreURL,
		Capacity:     bytes,
	}
	return w, nil
}

// create tries the places in their order.
func (c *Controller) create(ctx context.Context, w wanted) (volume.Volume, error) {
	places, err := c.places(ctx, w)
	if err != nil {
		if v, ok := c.earlier(ctx, w.spec, err); ok {
			return v, nil
		}
		return volume.Volume{}, err
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
		if !elsewhere(err) {
			return volume.Volume{}, failed(err, "create volume %q of %d bytes", spec.Name, spec.Capacity)
		}
		c.log.Warn("place passed over", "volume", spec.Name, "vcenter", place.VCenter, "err", err)
		passed = append(passed, err)
	}
	return volume.Volume{}, failed(errors.Join(passed...), "create volume %q of %d bytes", w.spec.Name, w.spec.Capacity)
}

// earlier returns the volume that an earlier call has made, when there is no place for it any more: it may be what has taken
// the last space. The answer would be lost otherwise, and nobody would ever delete the volume.
func (c *Controller) earlier(ctx context.Context, s volume.Spec, why error) (volume.Volume, bool) {
	if status.Code(why) != codes.ResourceExhausted {
		return volume.Volume{}, false
	}
	all, _, err := c.store.Volumes(ctx)
	if err != nil {
		c.log.Warn("earlier volume not looked for everywhere", "volume", s.Name, "err", err)
	}
	for _, v := range all {
		if v.Name == s.Name && v.Capacity == s.Capacity {
			return v, true
		}
	}
	return volume.Volume{}, false
}

// elsewhere says that another place may do. A vCenter that does not answer is not passed over: it may have made the
// volume, which nobody would ever delete when there is a second of that name.
func elsewhere(err error) bool {
	for _, doubt := range []error{volume.ErrPending, volume.ErrUnavailable, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, doubt) {
			return false
		}
	}
	for _, cure := range []error{volume.ErrNoSpace, volume.ErrNoDatastore, volume.ErrState, volume.ErrPermission} {
		if errors.Is(err, cure) {
			return true
		}
	}
	return false
}
