package main

import (
	"context"
	"errors"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// resizeClient is the driver as the resizer wants to see it. Upstream's own client insists on a connection of its own, and
// on ending the process when it is lost.
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

// SupportsNodeResize is asked when the controller cannot expand: then the node has to.
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

// Modify is never called: there is no controller here that would.
func (c *resizeClient) Modify(context.Context, string, map[string]string, map[string]string) error {
	return errors.New("volumes are not modified")
}

// CloseConnection leaves the connection to whoever made it.
func (c *resizeClient) CloseConnection() {}
