package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/external-resizer/v2/pkg/controller"
	"github.com/kubernetes-csi/external-resizer/v2/pkg/resizer"
	"github.com/kubernetes-csi/external-resizer/v2/pkg/util"
	"k8s.io/client-go/informers"
)

// resize is csi-resizer: it calls ControllerExpandVolume for a claim that is larger than its volume.
type resize struct {
	resync, timeout time.Duration
	workers         int
	inUse           bool
}

func (r *resize) flags(fs *flag.FlagSet) {
	fs.DurationVar(&r.resync, "resync-period", 10*time.Minute, "How often all objects are synced again.")
	fs.DurationVar(&r.timeout, "timeout", 10*time.Second, "Timeout for expanding a volume.")
	fs.IntVar(&r.workers, "workers", 10, "Maximum number of concurrent expand operations.")
	fs.BoolVar(&r.inUse, "handle-volume-inuse-error", true, "If the driver reports that a volume is in use, wait until no pod uses it. This watches all pods.")
}

func (r *resize) build(_ context.Context, w *dependencies) (*sidecarControllers, error) {
	if r.workers <= 0 {
		return nil, fmt.Errorf("--workers=%d must be positive", r.workers)
	}
	factory := informers.NewSharedInformerFactory(w.client, r.resync)
	one, err := resizer.NewResizerFromClient(&resizeClient{driver: w.driver}, r.timeout, w.client, w.driver.name)
	if err != nil {
		return nil, err
	}
	all := controller.NewResizeController(one.Name(), one, w.client, r.resync, factory, w.retries(), r.inUse, w.retryMax)
	return &sidecarControllers{
		lease: "external-resizer-" + util.SanitizeName(one.Name()),
		run: func(ctx context.Context, wg *sync.WaitGroup) {
			factory.Start(ctx.Done())
			all.Run(r.workers, ctx, wg)
			<-ctx.Done()
		},
	}, nil
}

// resizeClient is the resizer's interface to the driver. Upstream's client makes a separate connection, and exits the process when
// that breaks.
type resizeClient struct{ driver *driver }

func (c *resizeClient) GetDriverName(context.Context) (string, error) { return c.driver.name, nil }

func (c *resizeClient) SupportsPluginControllerService(context.Context) (bool, error) {
	return c.driver.plugin[csi.PluginCapability_Service_CONTROLLER_SERVICE], nil
}

func (c *resizeClient) SupportsControllerResize(context.Context) (bool, error) {
	return c.driver.controller[csi.ControllerServiceCapability_RPC_EXPAND_VOLUME], nil
}

func (c *resizeClient) SupportsControllerModify(context.Context) (bool, error) {
	return c.driver.controller[csi.ControllerServiceCapability_RPC_MODIFY_VOLUME], nil
}

func (c *resizeClient) SupportsControllerSingleNodeMultiWriter(context.Context) (bool, error) {
	return c.driver.controller[csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER], nil
}

// SupportsNodeResize is called if the controller cannot expand: then the node must.
func (c *resizeClient) SupportsNodeResize(ctx context.Context) (bool, error) {
	answer, err := csi.NewNodeClient(c.driver.conn).NodeGetCapabilities(ctx, &csi.NodeGetCapabilitiesRequest{})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(answer.GetCapabilities(), func(one *csi.NodeServiceCapability) bool {
		return one.GetRpc().GetType() == csi.NodeServiceCapability_RPC_EXPAND_VOLUME
	}), nil
}

func (c *resizeClient) Expand(ctx context.Context, volume string, bytes int64, secrets map[string]string, capability *csi.VolumeCapability) (int64, bool, error) {
	answer, err := csi.NewControllerClient(c.driver.conn).ControllerExpandVolume(ctx, &csi.ControllerExpandVolumeRequest{
		VolumeId: volume, Secrets: secrets, VolumeCapability: capability,
		CapacityRange: &csi.CapacityRange{RequiredBytes: bytes},
	})
	if err != nil {
		return 0, false, err // as gRPC has it: the controller looks at its code
	}
	return answer.GetCapacityBytes(), answer.GetNodeExpansionRequired(), nil
}

// Modify is never called: no controller here modifies volumes.
func (c *resizeClient) Modify(context.Context, string, map[string]string, map[string]string) error {
	return errors.New("volumes are not modified")
}

// CloseConnection does nothing; the connection belongs to the caller.
func (c *resizeClient) CloseConnection() {}
