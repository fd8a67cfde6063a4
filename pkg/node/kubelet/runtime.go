package kubelet

import (
	"context"
	"time"

	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	crifake "k8s.io/cri-api/pkg/apis/testing"
)

// newRuntime returns a container runtime that remembers containers instead of running them. It is called in process:
// the gRPC socket that kubemark puts between costs every node a server, a client and a file.
func newRuntime(ctx context.Context) (internalapi.RuntimeService, internalapi.ImageManagerService) {
	r := crifake.NewFakeRuntimeService()
	r.FakeStatus = &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true},
		{Type: runtimeapi.NetworkReady, Status: true},
	}}
	images := crifake.NewFakeImageService()
	// The eviction manager asks the runtime where images lie, and the machine how full that is.
	disk := []*runtimeapi.FilesystemUsage{{
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes:  &runtimeapi.UInt64Value{Value: diskBytes / 2},
		InodesUsed: &runtimeapi.UInt64Value{Value: diskInodes / 2},
	}}
	images.SetFakeFilesystemUsage(disk)
	images.SetFakeContainerFilesystemUsage(disk)
	go forgetCalls(ctx, r, images)
	return r, images
}

// forgetCalls keeps the fakes' call records, made for unit tests that read them, from growing as long as the node lives.
func forgetCalls(ctx context.Context, r *crifake.FakeRuntimeService, i *crifake.FakeImageService) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.Lock()
			r.Called = nil
			r.Unlock()
			i.Lock()
			i.Called = nil
			i.Unlock()
		case <-ctx.Done():
			return
		}
	}
}
