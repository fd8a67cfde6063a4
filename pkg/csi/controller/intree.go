package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// filePath is the key of the path in a volume's context, from which it gets into the PersistentVolume.
const filePath = "initialvolumefilepath"

// Migrated manages volumes that Kubernetes identifies by the path of their disk; pkg/csi/migrated.Store implements it. It is
// needed only for new volumes: ids of existing ones go to the Store unchanged.
type Migrated interface {
	// DatastoreURL returns the datastore for volumes of an in-tree StorageClass; name is its datastore parameter, or "".
	DatastoreURL(ctx context.Context, name string) (string, error)
	// RecordVolume records a new volume, and returns its path.
	RecordVolume(ctx context.Context, id string) (path string, err error)
}

// The parameters of an in-tree StorageClass, as Kubernetes translates them (k8s.io/csi-translation-lib).
const (
	parameterMigrated   = "csimigration"
	inTreeSuffix        = "-migrationparam"
	parameterDatastore  = "datastore" + inTreeSuffix
	parameterDiskFormat = "diskformat" + inTreeSuffix
)

// inTree holds the parameters of an in-tree StorageClass; the zero value means another class.
type inTree struct {
	is        bool
	datastore string // its name, or ""
}

// read parses one parameter, and reports whether it belongs to in-tree classes. As upstream, it accepts no disk format but
// thin, which all volumes have, and no vSAN settings, which belong into a storage policy.
func (p *inTree) read(key, value string) (bool, error) {
	switch lower := strings.ToLower(key); {
	case lower == parameterMigrated:
		p.is = strings.EqualFold(value, "true")
	case lower == parameterDatastore:
		p.datastore = value
	case lower == parameterDiskFormat && value == "thin":
	case lower == parameterDiskFormat:
		return true, invalid("parameter diskformat: %q: CNS creates only thin disks: remove the parameter", value)
	case slices.Contains([]string{"hostfailurestotolerate", "forceprovisioning", "cachereservation", "diskstripes", "objectspacereservation", "iopslimit"}, strings.TrimSuffix(lower, inTreeSuffix)):
		return true, invalid("parameter %s: vSAN settings of the in-tree provider are not supported: create a storage policy with them and set %s",
			strings.TrimSuffix(key, inTreeSuffix), names.ParameterPolicy)
	default:
		return false, nil
	}
	return true, nil
}

// placeInTree sets the datastore of a volume of an in-tree class.
func (c *Controller) placeInTree(ctx context.Context, w *volumeRequest) error {
	if !w.inTree.is {
		return nil
	}
	if c.migrated == nil {
		return invalid("parameter %s: in-tree volumes are not enabled", parameterMigrated)
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

// attributes returns the context of a new volume. The volume exists already: as in reached, an error must not be final, or
// the volume would be orphaned.
func (c *Controller) attributes(ctx context.Context, w volumeRequest, v volume.Volume) (map[string]string, error) {
	id, all := v.ID, map[string]string{names.AttributeType: kindOf(v)}
	if w.inTree.is {
		path, err := c.migrated.RecordVolume(ctx, id)
		if err != nil {
			return nil, failed(fmt.Errorf("%w: %w", volume.ErrPending, err), "path of volume %s", id)
		}
		all[filePath] = path
	}
	return all, nil
}
