package kind

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Detect finds the container runtime, as [runtime.Detect] does, and refuses one whose daemon is on another machine: the
// vCenters, the disks and the nodes' identities are on this one.
func Detect(ctx context.Context) (*runtime.Runtime, error) {
	rt, err := runtime.Detect(ctx)
	if err != nil {
		return nil, err
	}
	return rt, local(ctx, rt)
}

func local(ctx context.Context, rt *runtime.Runtime) error {
	if host := rt.Remote(ctx); host != "" {
		return coded.New(RuntimeRemote, "run the sandbox on that machine\nor unset DOCKER_HOST, or docker context use default", nil,
			"%s works on another machine (%s): vCenters and disks of this one would be out of the nodes' reach", rt.Name(), host)
	}
	return nil
}
