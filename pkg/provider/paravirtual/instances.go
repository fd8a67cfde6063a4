package paravirtual

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/binding"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/vmoperator"
)

var errNotBegun = errors.New("the provider has not started")

// InstanceMetadata implements [cloudprovider.InstancesV2]. It answers from memory. Anything still unknown is an error, and the
// caller retries.
func (p *Provider) InstanceMetadata(_ context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	m, err := p.metadata(node)
	if err != nil {
		err = fmt.Errorf("node %q: %w", node.Name, err)
	}
	p.events.metadata(node, err)
	return m, err
}

func (p *Provider) metadata(node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	vm, err := p.find(node)
	if err != nil {
		return nil, err
	}
	addresses := p.opts.IPFamily.addresses(vm)
	if err := binding.Check(vm, len(addresses)); err != nil {
		return nil, err
	}
	region, zone := binding.Place(vm)
	m := &cloudprovider.InstanceMetadata{
		ProviderID:       match.ProviderID(vm.UUID),
		NodeAddresses:    []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: node.Name}},
		Zone:             zone,
		Region:           region,
		AdditionalLabels: maps.Clone(p.opts.NodeLabels),
	}
	for _, ip := range addresses {
		m.NodeAddresses = append(m.NodeAddresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip.String()})
	}
	return m, nil
}

// addresses returns the VM's primary addresses: of both families in order for a dual-stack cluster, else one, preferably of the
// cluster's family.
func (f IPFamily) addresses(vm *vmoperator.VirtualMachine) (all []netip.Addr) {
	texts := []string{vm.Status.Network.PrimaryIP4, vm.Status.Network.PrimaryIP6}
	if f.first6() {
		texts[0], texts[1] = texts[1], texts[0]
	}
	for _, text := range texts {
		ip, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsLoopback() && ip.Is6() {
			continue
		}
		if all = append(all, ip.Unmap().WithZone("")); !f.dual() {
			break
		}
	}
	return all
}

// InstanceShutdown implements [cloudprovider.InstancesV2]: whether VM Operator observed that the VM is off or suspended. A power
// state that is not known is an error.
func (p *Provider) InstanceShutdown(_ context.Context, node *corev1.Node) (bool, error) {
	off, err := p.shutdown(node)
	if err != nil {
		err = fmt.Errorf("node %q: %w", node.Name, err)
	}
	p.events.shutdown(node, err)
	return off, err
}

func (p *Provider) shutdown(node *corev1.Node) (bool, error) {
	vm, err := p.find(node)
	if err != nil {
		return false, err
	}
	switch state := vm.Status.PowerState; state {
	case vmoperator.PoweredOn:
		return false, nil
	case vmoperator.PoweredOff, vmoperator.Suspended:
		return true, nil
	case "":
		return false, fmt.Errorf("vm %s: VM Operator reports no power state of it yet", vm)
	default:
		return false, fmt.Errorf("vm %s: power state %q is unknown", vm, state)
	}
}

// find returns the VM of a node. It is an error if the VMs in memory may not be current.
func (p *Provider) find(node *corev1.Node) (*vmoperator.VirtualMachine, error) {
	vms := p.vms.Load()
	if vms == nil {
		return nil, errNotBegun
	}
	if doubt := vms.Current(); doubt != nil {
		return nil, doubt
	}
	return binding.Find(kubenode.Facts(node), vms.Namespace(), vms.Each)
}
