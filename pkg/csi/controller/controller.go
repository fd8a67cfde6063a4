package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Config is the configuration of a [Controller].
type Config struct {
	Store volume.Store // required
	Nodes volume.Nodes // required
	// Migrated creates volumes of in-tree StorageClasses; they are refused when nil.
	Migrated Migrated
	// Logger receives decisions that no response contains, such as a skipped datastore; discarded when nil.
	Logger *slog.Logger
}

// Controller is the CSI Controller service. Create it with [New]. All methods are safe for concurrent use.
type Controller struct {
	csi.UnimplementedControllerServer

	store    volume.Store
	nodes    volume.Nodes
	migrated Migrated
	log      *slog.Logger
	flight   flight
	taken    snapshotNames
}

var _ csi.ControllerServer = (*Controller)(nil)

// New returns a Controller. It needs no Close.
func New(cfg Config) *Controller {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Controller{store: cfg.Store, nodes: cfg.Nodes, migrated: cfg.Migrated, log: cfg.Logger}
}

// ControllerGetCapabilities lists the implemented capabilities. Beyond upstream's list: GetCapacity, which shows full
// datastores to the scheduler, the condition of a volume, and ReadWriteOncePod.
func (c *Controller) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, t := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES,
		csi.ControllerServiceCapability_RPC_GET_CAPACITY,
		csi.ControllerServiceCapability_RPC_GET_VOLUME,
		csi.ControllerServiceCapability_RPC_VOLUME_CONDITION,
		csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: t}},
		})
	}
	return answer, nil
}

// GetCapacity returns the capacity for volumes of a StorageClass in a topology: the sum of the free space of the allowed
// datastores, and as maximum volume size the free space of the emptiest. Without any datastore it returns 0, not an error. If
// CreateVolume refuses the class in every topology, because of a wrong parameter or of a policy or a datastore that does
// not exist, it returns the largest size of a disk: the scheduler would hide the pod from CreateVolume otherwise, which has the
// reason for the user.
func (c *Controller) GetCapacity(ctx context.Context, r *csi.GetCapacityRequest) (*csi.GetCapacityResponse, error) {
	if len(r.GetVolumeCapabilities()) > 0 {
		if err := checkCapabilities(r.GetVolumeCapabilities()); err != nil {
			return &csi.GetCapacityResponse{}, nil // no capacity for unsupported volumes
		}
	}
	unlimited := &csi.GetCapacityResponse{AvailableCapacity: maxSize, MaximumVolumeSize: wrapperspb.Int64(maxSize)}
	p, err := readParameters(r.GetParameters())
	if err != nil {
		return unlimited, nil
	}
	requirement := volume.Requirement{
		Policy: p.policy, DatastoreURL: p.datastoreURL, Share: slices.ContainsFunc(r.GetVolumeCapabilities(), isShared),
	}
	if t := r.GetAccessibleTopology(); t != nil {
		requirement.Requisite = segmentsOf([]*csi.Topology{t})
	}
	places, err := c.nodes.Places(ctx, requirement)
	switch {
	case errors.Is(err, volume.ErrNoDatastore):
		return &csi.GetCapacityResponse{}, nil
	case errors.Is(err, volume.ErrNotFound):
		return unlimited, nil
	case err != nil:
		return nil, failed(err, "capacity")
	}
	type key struct{ vcenter, url string }
	seen := map[key]bool{}
	var sum, emptiest int64
	for _, place := range places {
		for _, d := range place.Datastores {
			if k := (key{d.VCenter, d.URL}); !seen[k] {
				seen[k] = true
				sum, emptiest = sum+max(d.Free, 0), max(emptiest, d.Free)
			}
		}
	}
	return &csi.GetCapacityResponse{
		AvailableCapacity: sum,
		MaximumVolumeSize: wrapperspb.Int64(min(emptiest/mib*mib, maxSize)),
		MinimumVolumeSize: wrapperspb.Int64(mib),
	}, nil
}

// outcome maps an error to a gRPC code.
type outcome struct {
	err  error
	code codes.Code
	// try is what the user can do, or "".
	try string
}

// outcomes are in order of priority for errors that wrap several. Doubt comes first: a sidecar treats Aborted, Unavailable,
// DeadlineExceeded, Canceled and ResourceExhausted as an unknown outcome, and every other code as a final failure.
//
// ResourceExhausted is therefore only for a VM without a free slot, from which the kubelet learns that the node takes fewer
// volumes, and for what [unplaced] says. After it, a snapshot could not be deleted, and an expansion could not be taken back.
// What a vCenter calls an invalid argument is Internal: the provisioner retries InvalidArgument only after five minutes, and
// an administrator may have mended the policy or the datastore by then.
func outcomes() []outcome {
	return []outcome{
		{volume.ErrPending, codes.Aborted, "Kubernetes retries until it is done"},
		{volume.ErrUnavailable, codes.Unavailable, "Kubernetes retries until the vCenter answers: check its connection and credentials"},
		{context.DeadlineExceeded, codes.DeadlineExceeded, "Kubernetes retries, and the vCenter continues the operation"},
		{context.Canceled, codes.Canceled, ""},
		{volume.ErrToken, codes.Aborted, "list again from the beginning"},
		{volume.ErrNoSlot, codes.ResourceExhausted, "the node's VM has the maximum number of disks: move pods with volumes to another node"},
		{volume.ErrNoSpace, codes.Internal, "free space on the datastores, or allow other datastores"},
		{volume.ErrLimit, codes.FailedPrecondition, "delete snapshots of the volume, or raise the limit in the configuration"},
		{volume.ErrNoDatastore, codes.Internal, "check which datastores the hosts of the nodes mount, and the storage policy and datastore URL of the StorageClass"},
		{volume.ErrExists, codes.AlreadyExists, "delete the existing one, or use another name"},
		{volume.ErrInUse, codes.FailedPrecondition, "detach the volume from that VM first; only if its node is down, taint the node with node.kubernetes.io/out-of-service"},
		{volume.ErrSnapshots, codes.FailedPrecondition, "delete its snapshots first"},
		{volume.ErrState, codes.FailedPrecondition, "check the state of the VM, its host and the datastore"},
		{volume.ErrInTree, codes.Unimplemented, "copy its data to a volume of a StorageClass of the CSI driver"},
		{volume.ErrNotSupported, codes.FailedPrecondition, "the version of the vCenter, or the kind of volume, does not allow it"},
		{volume.ErrPermission, codes.PermissionDenied, "grant the missing privileges to the driver's vCenter account"},
		{volume.ErrInvalid, codes.Internal, ""},
		{volume.ErrNodeGone, codes.NotFound, "no vCenter has the VM of the node: delete the Node object"},
		{volume.ErrNotFound, codes.NotFound, ""},
	}
}

// failed returns the gRPC status of err. what and args, as for Sprintf, describe the operation and its objects. A status is
// returned as it is.
func failed(err error, what string, args ...any) error {
	if _, ok := err.(interface{ GRPCStatus() *status.Status }); ok {
		return err
	}
	var text strings.Builder
	text.WriteString(fmt.Sprintf(what, args...) + ": " + err.Error())
	for _, o := range outcomes() {
		if errors.Is(err, o.err) {
			if o.try != "" {
				text.WriteString("; " + o.try)
			}
			return status.Error(o.code, text.String())
		}
	}
	return status.Error(codes.Internal, text.String())
}

// invalid returns the status of a request that can never succeed.
func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// flight is the set of calls in progress. CSI permits Aborted for a call while an identical one runs. A sidecar repeats a call
// after its timeout; without this, the repetitions would pile up on the vCenter. Calls about different objects are
// independent. The zero value is ready to use.
type flight struct {
	mu  sync.Mutex
	ids map[string]struct{}
}

// begin records a call for the object with the key. If err is nil, the caller must call end once.
func (f *flight) begin(what string, key ...string) (end func(), err error) {
	id := what + "\x00" + strings.Join(key, "\x00")
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.ids[id]; ok {
		return nil, status.Errorf(codes.Aborted, "%s %s: the same call is in progress: retry later", what, strings.Join(key, " and node "))
	}
	if f.ids == nil {
		f.ids = map[string]struct{}{}
	}
	f.ids[id] = struct{}{}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.ids, id)
	}, nil
}
