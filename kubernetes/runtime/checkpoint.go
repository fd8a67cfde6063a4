//go:build !before_v1_37

package runtime

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// CheckpointPod implements the CRI.
func (r *Runtime) CheckpointPod(context.Context, *runtimeapi.CheckpointPodRequest) error {
	return status.Error(codes.Unimplemented, "no checkpoints")
}

// RestorePod implements the CRI.
func (r *Runtime) RestorePod(context.Context, *runtimeapi.RestorePodRequest) (*runtimeapi.RestorePodResponse, error) {
	return nil, status.Error(codes.Unimplemented, "no checkpoints")
}
