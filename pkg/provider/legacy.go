package provider

import (
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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

func (l legacy) addresses(ctx context.Context, node *corev1.Node) ([]corev1.NodeAddress, error) {
	i, vm, err := l.vm(ctx, node)
	if err != nil {
		return nil, err
	}
	return i.addresses(vm, node)
}

// NodeAddresses implements [cloudprovider.Instances].
func (l legacy) NodeAddresses(ctx context.Context, name types.NodeName) ([]corev1.NodeAddress, error) {
	return l.addresses(ctx, l.p.nodes.named(name))
}

// NodeAddressesByProviderID implements [cloudprovider.Instances].
func (l legacy) NodeAddressesByProviderID(ctx context.Context, providerID string) ([]corev1.NodeAddress, error) {
	return l.addresses(ctx, withID(providerID))
}

// InstanceID implements [cloudprovider.Instances]. It returns the BIOS UUID, which is the providerID without its prefix.
func (l legacy) InstanceID(ctx context.Context, name types.NodeName) (string, error) {
	_, vm, err := l.vm(ctx, l.p.nodes.named(name))
	switch {
	case err != nil:
		return "", err
	case vm.UUID == (match.UUID{}):
		return "", fmt.Errorf("node %q: vm %s: its uuid is not known yet", name, vm)
	}
	return vm.UUID.String(), nil
}

// InstanceType implements [cloudprovider.Instances].
func (l legacy) InstanceType(ctx context.Context, name types.NodeName) (string, error) {
	return l.instanceType(ctx, l.p.nodes.named(name))
}

// InstanceTypeByProviderID implements [cloudprovider.Instances].
func (l legacy) InstanceTypeByProviderID(ctx context.Context, providerID string) (string, error) {
	return l.instanceType(ctx, withID(providerID))
}

func (l legacy) instanceType(ctx context.Context, node *corev1.Node) (string, error) {
	_, vm, err := l.vm(ctx, node)
	if err != nil {
		return "", err
	}
	return instanceType(vm), nil
}

// AddSSHKeyToAllInstances implements [cloudprovider.Instances]: it is not supported, as upstream.
func (legacy) AddSSHKeyToAllInstances(context.Context, string, []byte) error {
	return cloudprovider.NotImplemented
}

// CurrentNodeName implements [cloudprovider.Instances]: a node's name is its hostname.
func (legacy) CurrentNodeName(_ context.Context, hostname string) (types.NodeName, error) {
	return types.NodeName(hostname), nil
}

// InstanceExistsByProviderID implements [cloudprovider.Instances], as InstanceExists does.
func (l legacy) InstanceExistsByProviderID(ctx context.Context, providerID string) (bool, error) {
	exists, err := l.p.exists(ctx, withID(providerID))
	if exists {
		err = nil
	}
	return exists, err
}

// InstanceShutdownByProviderID implements [cloudprovider.Instances], as InstanceShutdown does.
func (l legacy) InstanceShutdownByProviderID(ctx context.Context, providerID string) (bool, error) {
	node := withID(providerID)
	i, _, err := l.vm(ctx, node)
	if err != nil {
		return false, err
	}
	return i.shutdown(node)
}

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
