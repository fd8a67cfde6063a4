package provider

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

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
