package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
	// defaultSize is upstream's default size.
	defaultSize = 10 * gib
	// maxSize is vSphere's maximum size of a disk: 62 TiB.
	maxSize = 62 << 10 * gib
)

// volumeRequest is a requested volume.
type volumeRequest struct {
	spec        volume.Spec
	requirement volume.Requirement
	// on is the datastore that the source requires; empty URL for any.
	on     volume.Datastore
	inTree inTree
}

// volumeRequest parses a request.
func (c *Controller) wanted(r *csi.CreateVolumeRequest) (w volumeRequest, err error) {
	if err := checkCapabilities(r.GetVolumeCapabilities()); err != nil {
		return w, err
	}
	share := slices.ContainsFunc(r.GetVolumeCapabilities(), isShared)
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
	if p.deprecated {
		c.log.Warn("parameter of the StorageClass is deprecated", "volume", r.GetName(), "parameter", names.ParameterOldFSType, "use", names.ParameterFSType)
	}
	if p.metadata.PV == "" {
		p.metadata.PV = r.GetName() // the provisioner uses the same name
	}
	w.inTree = p.inTree
	w.spec = volume.Spec{Name: r.GetName(), Capacity: bytes, Metadata: p.metadata, Share: share}
	w.requirement = volume.Requirement{
		Requisite:    segmentsOf(r.GetAccessibilityRequirements().GetRequisite()),
		Preferred:    segmentsOf(r.GetAccessibilityRequirements().GetPreferred()),
		Policy:       p.policy,
		DatastoreURL: p.datastoreURL,
		Capacity:     bytes,
		Share:        share,
	}
	return w, nil
}

// size returns the required size, rounded up to MiB, the granularity of disks. If no size is required, it is ifNone or the
// limit, whichever is less.
func size(r *csi.CapacityRange, ifNone int64) (int64, error) {
	required, limit := r.GetRequiredBytes(), r.GetLimitBytes()
	switch {
	case required < 0 || limit < 0:
		return 0, invalid("capacity range: %d to %d bytes: must not be negative", required, limit)
	case limit > 0 && required > limit:
		return 0, invalid("capacity range: %d bytes required, which is more than the limit of %d", required, limit)
	case required > maxSize:
		return 0, status.Errorf(codes.OutOfRange, "capacity range: %d bytes required: a disk has at most %d (62 TiB)", required, maxSize)
	case required == 0:
		required = ifNone
		if limit > 0 {
			required = min(required, limit/mib*mib)
		}
	}
	chosen := (required + mib - 1) / mib * mib
	if chosen == 0 || limit > 0 && chosen > limit {
		return 0, status.Errorf(codes.OutOfRange, "capacity range: %d to %d bytes: the size of a disk is a multiple of 1 MiB, and none is within", required, limit)
	}
	return chosen, nil
}

// segmentsOf converts CSI topologies. It omits empty ones.
func segmentsOf(all []*csi.Topology) []volume.Segment {
	var segments []volume.Segment
	for _, t := range all {
		if len(t.GetSegments()) > 0 {
			segments = append(segments, maps.Clone(t.GetSegments()))
		}
	}
	return segments
}

func topologies(all []volume.Segment) []*csi.Topology {
	var list []*csi.Topology
	for _, s := range all {
		if len(s) > 0 {
			list = append(list, &csi.Topology{Segments: maps.Clone(s)})
		}
	}
	return list
}

// isShared reports whether a capability needs a file volume: several nodes use it, or its file system is a network's.
func isShared(c *csi.VolumeCapability) bool {
	switch c.GetAccessMode().GetMode() {
	case csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER,
		csi.VolumeCapability_AccessMode_MULTI_NODE_SINGLE_WRITER,
		csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY:
		return true
	}
	return slices.Contains(names.NetworkFileSystems(), strings.ToLower(c.GetMount().GetFsType()))
}

// checkCapabilities refuses what neither a disk on one VM nor a share supports.
func checkCapabilities(all []*csi.VolumeCapability) error {
	if len(all) == 0 {
		return invalid("volume capability: missing")
	}
	block, mount := false, false
	share := slices.ContainsFunc(all, isShared)
	for _, c := range all {
		if fs := c.GetMount().GetFsType(); share && c.GetMount() != nil && fs != "" && fs != names.FileSystems()[0] && !slices.Contains(names.NetworkFileSystems(), fs) {
			return invalid("file system %q: several nodes at once need a file volume, whose file system is one of %s", fs, strings.Join(names.NetworkFileSystems(), ", "))
		}
		if err := checkCapability(c); err != nil {
			return err
		}
		block, mount = block || c.GetBlock() != nil, mount || c.GetMount() != nil
	}
	if block && mount {
		return invalid("volume capability: both raw and with a file system")
	}
	return nil
}

func checkCapability(c *csi.VolumeCapability) error {
	if c == nil {
		return invalid("volume capability: missing")
	}
	switch mode := c.GetAccessMode().GetMode(); mode {
	case csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER,
		csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER,
		csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER:
	case csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER,
		csi.VolumeCapability_AccessMode_MULTI_NODE_SINGLE_WRITER,
		csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY:
		if c.GetBlock() != nil {
			return invalid("volume capability: access mode %s: a raw block volume is a disk, which one node uses at a time: use ReadWriteOnce or ReadWriteOncePod", mode)
		}
	default:
		return invalid("volume capability: access mode %s: not supported: use ReadWriteOnce or ReadWriteOncePod", mode)
	}
	switch {
	case c.GetBlock() != nil:
		return nil
	case c.GetMount() == nil:
		return invalid("volume capability: neither raw nor with a file system")
	}
	return checkFileSystem(c.GetMount().GetFsType())
}

// checkFileSystem refuses file systems that the node service does not make. Upper case is refused, as upstream does.
func checkFileSystem(name string) error {
	if name == "" || slices.Contains(names.FileSystems(), name) || slices.Contains(names.NetworkFileSystems(), name) {
		return nil
	}
	return invalid("file system %q: not supported: use one of %s", name, strings.Join(names.FileSystems(), ", "))
}

// source sets the content of the volume: none, or that of a snapshot. As upstream, a volume from a snapshot has the
// snapshot's size and is created on the datastore of the snapshot's volume.
func (c *Controller) source(ctx context.Context, r *csi.CreateVolumeRequest, w *volumeRequest) error {
	var id string
	switch s := r.GetVolumeContentSource().GetType().(type) {
	case nil:
		return nil
	case *csi.VolumeContentSource_Snapshot:
		id = s.Snapshot.GetSnapshotId()
	default:
		return invalid("volume content source: this driver does not clone volumes: take a snapshot of the volume, and create one from that")
	}
	if id == "" {
		return invalid("volume content source: snapshot id: missing")
	}
	snapshot, err := c.snapshot(ctx, id)
	if err != nil {
		return failed(err, "create volume %q of snapshot %s", r.GetName(), id)
	}
	of, err := c.store.Volume(ctx, snapshot.Volume)
	if err != nil {
		return failed(err, "volume of snapshot %s", id)
	}
	bytes, err := size(r.GetCapacityRange(), snapshot.Capacity)
	switch {
	case err != nil:
		return err
	case bytes != snapshot.Capacity:
		return status.Errorf(codes.OutOfRange, "create volume %q of snapshot %s: %d bytes: it must be as large as the snapshot, %d bytes: "+
			"expand the volume afterwards", r.GetName(), id, bytes, snapshot.Capacity)
	}
	w.spec.Capacity, w.requirement.Capacity = bytes, bytes
	w.spec.Snapshot = snapshot.SnapshotRef
	w.on = volume.Datastore{VCenter: of.VCenter, URL: of.DatastoreURL}
	return nil
}

// snapshot finds a snapshot by id. An invalid id is not found.
func (c *Controller) snapshot(ctx context.Context, id string) (volume.Snapshot, error) {
	v, s, err := names.SplitSnapshotID(id)
	if err != nil {
		return volume.Snapshot{}, fmt.Errorf("%w: %w", err, volume.ErrNotFound)
	}
	found, err := c.store.Snapshots(ctx, volume.SnapshotRef{Volume: v, Snapshot: s})
	switch {
	case err != nil:
		return volume.Snapshot{}, err
	case len(found) == 0:
		return volume.Snapshot{}, fmt.Errorf("snapshot %s: %w", id, volume.ErrNotFound)
	}
	return found[0], nil
}

// sidecarPrefix is the prefix of parameters that are reserved for Kubernetes and its sidecars.
const sidecarPrefix = "csi.storage.k8s.io/"

// The parameters that external-provisioner adds with --extra-create-metadata.
const (
	parameterPV        = sidecarPrefix + "pv/name"
	parameterPVC       = sidecarPrefix + "pvc/name"
	parameterNamespace = sidecarPrefix + "pvc/namespace"
)

// parameters are the parameters of a StorageClass and of the provisioner.
type parameters struct {
	policy, datastoreURL string
	metadata             volume.Metadata
	inTree               inTree
	// deprecated reports that the file system is given by the name that Kubernetes 1.14 replaced.
	deprecated bool
}

// readParameters accepts keys in any case, as upstream does. Unlike upstream it refuses unknown parameters of a StorageClass:
// a misspelled policy would create volumes without one.
func readParameters(given map[string]string) (parameters, error) {
	var p parameters
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		value, lower := given[key], strings.ToLower(key)
		if other, ok := seen[lower]; ok {
			return p, invalid("parameter %s: is also set as %s", key, other)
		}
		seen[lower] = key
		switch lower {
		case names.ParameterPolicy:
			p.policy = value
		case names.ParameterDatastore:
			p.datastoreURL = value
		case names.ParameterFSType, names.ParameterOldFSType:
			if err := checkFileSystem(value); err != nil {
				return p, err
			}
			p.deprecated = p.deprecated || lower == names.ParameterOldFSType
		case parameterPV:
			p.metadata.PV = value
		case parameterPVC:
			p.metadata.PVC = value
		case parameterNamespace:
			p.metadata.Namespace = value
		default:
			if strings.HasPrefix(lower, sidecarPrefix) {
				continue
			}
			if of, err := p.inTree.read(key, value); err != nil {
				return p, err
			} else if of {
				continue
			}
			known := []string{names.ParameterPolicy, names.ParameterDatastore, names.ParameterFSType}
			if best := nearest.Of(lower, known); best != "" {
				return p, invalid("parameter %s: unknown: did you mean %s?", key, best)
			}
			return p, invalid("parameter %s: unknown: use one of %s", key, strings.Join(known, ", "))
		}
	}
	return p, nil
}
