package provider

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// legacy implements [cloudprovider.Instances] and [cloudprovider.Zones], for callers that ask by name or by providerID
// alone; the stock controllers prefer [cloudprovider.InstancesV2]. Lookups work as there.
//
// Callers delete a node on [cloudprovider.InstanceNotFound]. It is returned only for a providerID, and only after every
// vCenter has confirmed the absence; every other failure is a different error.
type legacy struct{ p *Provider }

var (
	_ cloudprovider.Instances = legacy{}
	_ cloudprovider.Zones     = legacy{}
)

func withID(providerID string) *corev1.Node {
	return &corev1.Node{Spec: corev1.NodeSpec{ProviderID: providerID}}
}

// vm finds a node's VM. Before it returns InstanceNotFound, it asks every vCenter.
func (l legacy) vm(ctx context.Context, node *corev1.Node) (instances, *inventory.VM, error) {
	i := l.p.now().instances()
	vm, err := i.find(node)
	if err == nil || node.Spec.ProviderID == "" || !errors.Is(err, match.ErrNotFound) {
		return i, vm, err
	}
	switch exists, existsErr := l.p.exists(ctx, node); {
	case exists:
		return i, nil, err
	case existsErr == nil:
		return i, nil, cloudprovider.InstanceNotFound
	default:
		return i, nil, existsErr
	}
}
