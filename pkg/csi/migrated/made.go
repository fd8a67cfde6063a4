package migrated

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// DatastoreURL is where a volume of an in-tree StorageClass goes: its datastore parameter, by name or as
// "cluster/datastore"; without one, the migration-datastore-url that is configured. Empty: anywhere.
func (s *Store) DatastoreURL(ctx context.Context, name string) (string, error) {
	if name == "" {
		if urls := s.cfg.DatastoreURLs(); len(urls) == 1 {
			return urls[0], nil
		}
		return "", nil // several are for several vCenters, and topology chooses between those
	}
	d, err := s.datastore(ctx, Path{Datastore: withoutCluster(name)})
	return d.URL, err
}

// Remember writes down a new volume that Kubernetes is to know by the path of its disk, and returns the path.
func (s *Store) Remember(ctx context.Context, id string) (path string, err error) {
	v, err := s.CNS.Volume(ctx, id)
	if err != nil {
		return "", err
	}
	if v.File == "" {
		return "", fmt.Errorf("volume %s: %w: vcenter %q does not tell the file of its disk", id, volume.ErrState, v.VCenter)
	}
	return v.File, s.cfg.Records.Put(ctx, v.File, id)
}
