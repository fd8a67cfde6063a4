package node

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// code is what kubelet does something different for. It takes Aborted, Canceled, DeadlineExceeded, Unavailable and
// ResourceExhausted for "perhaps it was done" and keeps the volume's directories; all others for "it was not done".
func code(err error) codes.Code {
	for _, c := range []struct {
		err  error
		code codes.Code
	}{
		{volume.ErrPending, codes.Aborted},
		{volume.ErrUnavailable, codes.Unavailable},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{context.Canceled, codes.Canceled},
		{volume.ErrInvalid, codes.InvalidArgument},
		{volume.ErrExists, codes.AlreadyExists},
		{volume.ErrState, codes.FailedPrecondition},
		{volume.ErrInUse, codes.FailedPrecondition},
		{volume.ErrNotSupported, codes.FailedPrecondition},
		{volume.ErrNotFound, codes.NotFound},
	} {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return codes.Internal
}

// failed is err as a status.
func failed(err error, c call) error {
	return status.Errorf(code(err), "%s volume %s: %v", c.what, c.volume, err)
}
