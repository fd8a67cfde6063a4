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

// outcome is what becomes of an error.
type outcome struct {
	err  error
	code codes.Code
	// try is what helps, if the reader can do anything.
	try string
}

// outcomes are in the order in which they count for an error that is several things. Doubt comes first: a sidecar takes
// Aborted, Unavailable, DeadlineExceeded and Canceled for "perhaps", every other code for "surely not".
func outcomes() []outcome {
	return []outcome{
		{volume.ErrPending, codes.Aborted, "it is repeated until it is done"},
		{volume.ErrUnavailable, codes.Unavailable, "it is repeated until the vCenter answers: see its connection and credentials"},
		{context.DeadlineExceeded, codes.DeadlineExceeded, "it is repeated, and what was begun goes on in the vCenter"},
		{context.Canceled, codes.Canceled, ""},
		{volume.ErrToken, codes.Aborted, "list again from the beginning"},
		{volume.ErrNoSlot, codes.ResourceExhausted, "the node has as many disks as its VM takes: move pods with volumes to another node"},
		{volume.ErrNoSpace, codes.ResourceExhausted, "free space on the datastores, or allow others"},
		{volume.ErrLimit, codes.ResourceExhausted, "delete snapshots of the volume, or raise the limit in the configuration"},
		{volume.ErrNoDatastore, codes.ResourceExhausted, "see which datastores the hosts of the nodes mount, and the storage policy and datastore URL of the StorageClass"},
		{volume.ErrExists, codes.AlreadyExists, "delete the other one, or use another name"},
		{volume.ErrInUse, codes.FailedPrecondition, "it has to be detached first; the disk of a node that is down is detached when the node is tainted node.kubernetes.io/out-of-service"},
		{volume.ErrSnapshots, codes.FailedPrecondition, "delete its snapshots first"},
		{volume.ErrState, codes.FailedPrecondition, "see the state of the VM, its host and the datastore"},
		{volume.ErrInTree, codes.Unimplemented, "copy its data to a volume of a StorageClass of the CSI driver"},
		{volume.ErrNotSupported, codes.FailedPrecondition, "the version of the vCenter, or the kind of volume, does not allow it"},
		{volume.ErrPermission, codes.PermissionDenied, "grant the vCenter account of the driver what it lacks"},
		{volume.ErrInvalid, codes.InvalidArgument, ""},
		{volume.ErrNodeGone, codes.NotFound, "no vCenter has the VM of the node: delete the Node object"},
		{volume.ErrNotFound, codes.NotFound, ""},
	}
}

// failed is the status of err: what (as for Sprintf) is what was to be done, with all that it was to be done to. A status
// stays what it is.
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

// invalid is a request that can never succeed.
func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// flight is what is being done. CSI lets a driver answer Aborted to a call while an identical one is under way, and a
// sidecar that has given up on a call repeats it: without this each repetition would pile up on the vCenter. Calls about
// different things never meet. The zero value is ready.
type flight struct {
	mu  sync.Mutex
	ids map[string]struct{}
}

// begin notes that something is being done to what the key names. The caller calls end once when it returns nil error.
func (f *flight) begin(what string, key ...string) (end func(), err error) {
	id := what + "\x00" + strings.Join(key, "\x00")
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.ids[id]; ok {
		return nil, status.Errorf(codes.Aborted, "%s %s: the same call is under way: repeat it later", what, strings.Join(key, " and node "))
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
