package controllers

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	cloudnodeutil "k8s.io/cloud-provider/node/helpers"
)

// withoutEqualAddresses returns cloud for the cloud-node controller, whose comparison of addresses keeps one of each
// type (controllers/node, nodeAddressesChangeDetected): a dual-stack node always looks changed to it, and is patched
// every time. For an initialized node that has the addresses already, it is told of none, which it takes for "leave
// them".
func withoutEqualAddresses(cloud cloudprovider.Interface) cloudprovider.Interface {
	instances, ok := cloud.InstancesV2()
	if !ok || instances == nil {
		return cloud
	}
	return quietCloud{cloud, quietInstances{instances}}
}

type quietCloud struct {
	cloudprovider.Interface
	instances quietInstances
}

func (c quietCloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.instances, true }

type quietInstances struct{ cloudprovider.InstancesV2 }

func (q quietInstances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	metadata, err := q.InstancesV2.InstanceMetadata(ctx, node)
	if err != nil || metadata == nil || !initialized(node) || !hasAddresses(node, metadata.NodeAddresses) {
		return metadata, err
	}
	quiet := *metadata
	quiet.NodeAddresses = nil
	return &quiet, nil
}

// hasAddresses reports whether the node's addresses are what the cloud-node controller would make of these
// (updateNodeAddress).
func hasAddresses(node *v1.Node, addresses []v1.NodeAddress) bool {
	isHostName := func(a v1.NodeAddress) bool { return a.Type == v1.NodeHostName }
	want := slices.Clone(addresses)
	if !slices.ContainsFunc(want, isHostName) {
		for _, a := range node.Status.Addresses {
			if isHostName(a) {
				want = append(want, a)
			}
		}
	}
	if ip, ok := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]; ok {
		var err error
		if want, err = cloudnodeutil.GetNodeAddressesFromNodeIP(ip, want); err != nil {
			return false
		}
	}
	return slices.Equal(want, node.Status.Addresses)
}
