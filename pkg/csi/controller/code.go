package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// outcome maps an error to a gRPC code.
type outcome struct {
	err  error
	code codes.Code
	// try is what the user can do, or "".
	try string
}

// outcomes are in order of priority for errors that wrap several. Doubt comes first: a sidecar treats Aborted, Unavailable,
// DeadlineExceeded and Canceled as an unknown outcome, and every other code as a final failure.
func outcomes() []outcome {
	return []outcome{
		{volume.ErrPending, codes.Aborted, "Kubernetes retries until it is done"},
		{volume.ErrUnavailable, codes.Unavailable, "Kubernetes retries until the vCenter answers: check its connection and credentials"},
		{context.DeadlineExceeded, codes.DeadlineExceeded, "Kubernetes retries, and the vCenter continues the operation"},
		{context.Canceled, codes.Canceled, ""},
		{volume.ErrToken, codes.Aborted, "list again from the beginning"},
		{volume.ErrNoSlot, codes.ResourceExhausted, "the node's VM has the maximum number of disks: move pods with volumes to another node"},
		{volume.ErrNoSpace, codes.ResourceExhausted, "free space on the datastores, or allow other datastores"},
		{volume.ErrLimit, codes.ResourceExhausted, "delete snapshots of the volume, or raise the limit in the configuration"},
		{volume.ErrNoDatastore, codes.ResourceExhausted, "check which datastores the hosts of the nodes mount, and the storage policy and datastore URL of the StorageClass"},
		{volume.ErrExists, codes.AlreadyExists, "delete the existing one, or use another name"},
		{volume.ErrInUse, codes.FailedPrecondition, "detach the volume first; taint a node that is down with node.kubernetes.io/out-of-service to detach its disks"},
		{volume.ErrSnapshots, codes.FailedPrecondition, "delete its snapshots first"},
		{volume.ErrState, codes.FailedPrecondition, "check the state of the VM, its host and the datastore"},
		{volume.ErrInTree, codes.Unimplemented, "copy its data to a volume of a StorageClass of the CSI driver"},
		{volume.ErrNotSupported, codes.FailedPrecondition, "the version of the vCenter, or the kind of volume, does not allow it"},
		{volume.ErrPermission, codes.PermissionDenied, "grant the missing privileges to the driver's vCenter account"},
		{volume.ErrInvalid, codes.InvalidArgument, ""},
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
