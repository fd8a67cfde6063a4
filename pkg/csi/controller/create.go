package controller

import (
	"context"
	"errors"
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

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
	// defaultSize is upstream's default size.
	defaultSize = 10 * gib
	// maxSize is vSphere's maximum size of a disk: 62 TiB.
	maxSize = 62 << 10 * gib
)

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

// filePath is the key of the path in a volume's context, from which it gets into the PersistentVolume.
const filePath = "initialvolumefilepath"

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
