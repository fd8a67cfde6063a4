package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// InstanceExists implements [cloudprovider.InstancesV2]. False has the node deleted, so it is said only of a node with
// a vSphere providerID whose absence every vCenter has just confirmed; a node without one is never called gone.
func (p *Provider) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	_, err := p.find(node)
	if err == nil {
		return true, nil
	}
	u, idErr := parseProviderID(node.Spec.ProviderID)
	if idErr != nil || !errors.Is(err, inventory.ErrNotFound) {
		return false, err
	}
	switch err := p.inv.ConfirmAbsent(ctx, u); {
	case err == nil:
		p.log.Info("vm confirmed gone", "node", node.Name, "uuid", u.String())
		return false, nil
	case errors.Is(err, inventory.ErrStillThere):
		return true, nil
	default:
		return false, fmt.Errorf("node %q: %w", node.Name, err)
	}
}

// InstanceShutdown implements [cloudprovider.InstancesV2]. It looks at the power state alone: a guest that no longer
// reports anything is exactly what a VM that is off looks like. Suspended counts as shut down.
func (p *Provider) InstanceShutdown(_ context.Context, node *v1.Node) (bool, error) {
	vm, err := p.find(node)
	if err != nil {
		return false, err
	}
	switch vm.Power {
	case types.VirtualMachinePowerStatePoweredOn:
		return false, nil
	case types.VirtualMachinePowerStatePoweredOff, types.VirtualMachinePowerStateSuspended:
		return true, nil
	}
	return false, fmt.Errorf("node %q: vm %s: power state %q is unknown", node.Name, vm, vm.Power)
}

// InstanceMetadata implements [cloudprovider.InstancesV2]. It answers from the index, without a call; whatever is not
// known yet is an error, and is asked for again.
func (p *Provider) InstanceMetadata(_ context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	vm, err := p.find(node)
	if err != nil {
		return nil, err
	}
	m, err := p.metadata(vm)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", node.Name, err)
	}
	return m, nil
}

func (p *Provider) metadata(vm *inventory.VM) (*cloudprovider.InstanceMetadata, error) {
	vc, err := p.vcenterConfig(vm)
	if err != nil {
		return nil, err
	}
	if vm.UUID == (inventory.UUID{}) {
		return nil, fmt.Errorf("vm %s: its uuid is not known yet", vm)
	}
	addresses, err := addresses(vm, p.cfg.Nodes, vc.IPFamilies)
	zone, zoneErr := p.zone(vm)
	if err := errors.Join(err, zoneErr); err != nil {
		return nil, err
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:    providerID(vm.UUID),
		InstanceType:  instanceType(vm),
		NodeAddresses: addresses,
		Zone:          zone.Zone,
		Region:        zone.Region,
	}, nil
}

// zone returns where vm runs, and refuses tag names that cannot be label values: the API server would refuse the node
// as a whole, without end and without saying which tag it is.
func (p *Provider) zone(vm *inventory.VM) (inventory.Zone, error) {
	z, err := p.inv.Zone(vm)
	if err != nil {
		return z, err
	}
	for category, tag := range map[string]string{p.cfg.Labels.Region: z.Region, p.cfg.Labels.Zone: z.Zone} {
		if problems := validation.IsValidLabelValue(tag); len(problems) > 0 {
			return z, fmt.Errorf("vm %s: tag %q of category %q cannot be a label: %s", vm, tag, category, strings.Join(problems, "; "))
		}
	}
	return z, nil
}
