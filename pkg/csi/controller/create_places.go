package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// places returns where the volume may lie, best first, at least one.
func (c *Controller) places(ctx context.Context, w wanted) ([]volume.Place, error) {
	places, err := c.nodes.Places(ctx, w.requirement)
	switch {
	case errors.Is(err, volume.ErrNotFound):
		// Of the policy or the datastore that the StorageClass names: nothing that asking again would change.
		return nil, invalid("place for volume %q: %v; see the parameters of the StorageClass", w.spec.Name, err)
	case err != nil:
		return nil, failed(err, "place for volume %q of %d bytes", w.spec.Name, w.spec.Capacity)
	}
	if w.on.URL != "" {
		places = only(places, w.on)
	}
	places = slices.DeleteFunc(places, func(p volume.Place) bool { return len(p.Datastores) == 0 })
	if len(places) > 0 {
		return places, nil
	}
	if w.on.URL != "" {
		return nil, failed(fmt.Errorf("datastore %s of vcenter %q, where the snapshot is, is not among those allowed; the scheduler knows nothing of snapshots: "+
			"give the pod the node affinity of the volume that the snapshot is of: %w", w.on.URL, w.on.VCenter, volume.ErrNoDatastore),
			"place for volume %q of snapshot %s of volume %s", w.spec.Name, w.spec.Snapshot.Snapshot, w.spec.Snapshot.Volume)
	}
	return nil, failed(volume.ErrNoDatastore, "place for volume %q of %d bytes", w.spec.Name, w.spec.Capacity)
}

// only is what is left of places for a volume that has to lie on that datastore.
func only(places []volume.Place, on volume.Datastore) []volume.Place {
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

// sameURL compares URLs of datastores, which vCenters write with a slash at the end and people without.
func sameURL(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, "/"), strings.TrimRight(b, "/"))
}

// placeError is why a place did not do.
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
