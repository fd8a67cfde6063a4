package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Migrated knows volumes that Kubernetes names by the path of their disk: pkg/csi/migrated.Store. Calls about one that there
// is need nothing of this: their ids go to the Store as they are.
type Migrated interface {
	// DatastoreURL returns where an in-tree StorageClass wants volumes; name is its datastore parameter, or empty.
	DatastoreURL(ctx context.Context, name string) (string, error)
	// Remember notes a new volume, and returns the path that it is to go by.
	Remember(ctx context.Context, id string) (path string, err error)
}

// Parameters of an in-tree StorageClass, as Kubernetes translates them (k8s.io/csi-translation-lib).
const (
	parameterMigrated   = "csimigration"
	inTreeSuffix        = "-migrationparam"
	parameterDatastore  = "datastore" + inTreeSuffix
	parameterDiskFormat = "diskformat" + inTreeSuffix
)

// filePath is the key of a volume's context with the path of its disk, which becomes that of the PersistentVolume.
const filePath = "initialvolumefilepath"

// inTree is what an in-tree StorageClass says; the zero value is that it is none.
type inTree struct {
	is        bool
	datastore string // its name; empty for none
}

// read takes one parameter, and tells whether it is of in-tree classes. As upstream, it takes no other disk format than thin,
// which all volumes are, and no vSAN settings: a storage policy says those.
func (p *inTree) read(key, value string) (bool, error) {
	switch lower := strings.ToLower(key); {
	case lower == parameterMigrated:
		p.is = strings.EqualFold(value, "true")
	case lower == parameterDatastore:
		p.datastore = value
	case lower == parameterDiskFormat && value == "thin":
	case lower == parameterDiskFormat:
		return true, invalid("parameter diskformat: %q: CNS makes thin disks only: leave it out", value)
	case slices.Contains([]string{"hostfailurestotolerate", "forceprovisioning", "cachereservation", "diskstripes", "objectspacereservation", "iopslimit"}, strings.TrimSuffix(lower, inTreeSuffix)):
		return true, invalid("parameter %s: the in-tree provider's vSAN settings are not taken over: make a storage policy of them, and name it: %s",
			strings.TrimSuffix(key, inTreeSuffix), names.ParameterPolicy)
	default:
		return false, nil
	}
	return true, nil
}

// placeInTree says where a volume of an in-tree class may lie.
func (c *Controller) placeInTree(ctx context.Context, w *wanted) error {
	if !w.inTree.is {
		return nil
	}
	if c.migrated == nil {
		return invalid("parameter %s: this driver was built without in-tree volumes", parameterMigrated)
	}
	url, err := c.migrated.DatastoreURL(ctx, w.inTree.datastore)
	if err != nil {
		return failed(err, "create volume %q: datastore of its in-tree StorageClass", w.spec.Name)
	}
	if w.requirement.DatastoreURL == "" {
		w.requirement.DatastoreURL = url
	}
	return nil
}

// attributes are the context of a new volume. The volume is there: as in reached, an error may not be final, or the volume
// would be forgotten about.
func (c *Controller) attributes(ctx context.Context, w wanted, id string) (map[string]string, error) {
	all := map[string]string{names.AttributeType: names.BlockVolume}
	if w.inTree.is {
		path, err := c.migrated.Remember(ctx, id)
		if err != nil {
			return nil, failed(fmt.Errorf("%w: %w", volume.ErrPending, err), "path of volume %s", id)
		}
		all[filePath] = path
	}
	return all, nil
}
