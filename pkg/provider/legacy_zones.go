package provider

import (
	"context"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// GetZone implements [cloudprovider.Zones]. It returns the zone of the node that this process runs on, by hostname.
func (l legacy) GetZone(ctx context.Context) (cloudprovider.Zone, error) {
	name, err := os.Hostname()
	if err != nil {
		return cloudprovider.Zone{}, err
	}
	return l.GetZoneByNodeName(ctx, types.NodeName(name))
}

// GetZoneByProviderID implements [cloudprovider.Zones].
func (l legacy) GetZoneByProviderID(ctx context.Context, providerID string) (cloudprovider.Zone, error) {
	return l.zone(ctx, withID(providerID))
}

// GetZoneByNodeName implements [cloudprovider.Zones].
func (l legacy) GetZoneByNodeName(ctx context.Context, name types.NodeName) (cloudprovider.Zone, error) {
	return l.zone(ctx, l.p.nodes.named(name))
}

// zone returns an empty zone without looking for a VM if no tag categories are configured.
func (l legacy) zone(ctx context.Context, node *corev1.Node) (cloudprovider.Zone, error) {
	if labels := l.p.now().cfg.Labels; labels.Region == "" || labels.Zone == "" {
		return cloudprovider.Zone{}, nil
	}
	i, vm, err := l.vm(ctx, node)
	if err != nil {
		return cloudprovider.Zone{}, err
	}
	z, err := i.zone(vm)
	if err != nil {
		return cloudprovider.Zone{}, err
	}
	return cloudprovider.Zone{FailureDomain: z.Zone, Region: z.Region}, nil
}
