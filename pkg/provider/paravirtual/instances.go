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
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/vmoperator"
)

var (
	errNoAddress = errors.New("VM Operator reports no address of it yet")
	errNoUUID    = errors.New("VM Operator reports no BIOS UUID of it yet")
	errNotBegun  = errors.New("the provider has not started")
)

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
	if vm.UUID == (match.UUID{}) {
		return nil, fmt.Errorf("vm %s: %w", vm, errNoUUID)
	}
	addresses := p.opts.IPFamily.addresses(vm)
	if len(addresses) == 0 {
		return nil, fmt.Errorf("vm %s: %w%s", vm, errNoAddress, whyOff(vm))
	}
	m := &cloudprovider.InstanceMetadata{
		ProviderID:       match.ProviderID(vm.UUID),
		NodeAddresses:    []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: node.Name}},
		Zone:             vm.Labels[corev1.LabelTopologyZone],
		Region:           vm.Labels[corev1.LabelTopologyRegion],
		AdditionalLabels: maps.Clone(p.opts.NodeLabels),
	}
	if m.Zone == "" {
		m.Zone = vm.Status.Zone
	}
	for _, ip := range addresses {
		m.NodeAddresses = append(m.NodeAddresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip.String()})
	}
	return m, nil
}

// whyOff explains why a VM has no address, if its power state does.
func whyOff(vm *vmoperator.VirtualMachine) string {
	switch vm.Status.PowerState {
	case vmoperator.PoweredOff:
		return ": it is off"
	case vmoperator.Suspended:
		return ": it is suspended"
	}
	return ""
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
	facts := kubenode.Facts(node)
	if facts.ProviderID != "" {
		u, err := match.ParseProviderID(facts.ProviderID)
		if err != nil {
			return nil, err
		}
		return one(vms, node.Name, "providerID "+facts.ProviderID, func(vm *vmoperator.VirtualMachine) bool { return hasUUID(vm, u) })
	}
	if u, err := match.ParseUUID(facts.SystemUUID); err == nil {
		vm, err := one(vms, node.Name, "system uuid "+facts.SystemUUID, func(vm *vmoperator.VirtualMachine) bool { return hasUUID(vm, u) })
		if !errors.Is(err, match.ErrNotFound) {
			return vm, err
		}
	}
	// On a Supervisor, a VM, its hostname and its Node have one name.
	vm, err := one(vms, node.Name, "name "+node.Name, func(vm *vmoperator.VirtualMachine) bool { return vm.Name == node.Name })
	if errors.Is(err, match.ErrNotFound) {
		return nil, fmt.Errorf("%w, and none with the node's system uuid %q", err, facts.SystemUUID)
	}
	return vm, err
}

// hasUUID reports whether the VM has the UUID in either byte order.
func hasUUID(vm *vmoperator.VirtualMachine, u match.UUID) bool {
	return vm.UUID != (match.UUID{}) && vm.UUID.Equal(u)
}

// one returns the only VM that matches, or of several the one with the node's name.
func one(vms *machines, node, by string, matches func(*vmoperator.VirtualMachine) bool) (*vmoperator.VirtualMachine, error) {
	var found []*vmoperator.VirtualMachine
	vms.Each(func(vm *vmoperator.VirtualMachine) bool {
		if matches(vm) {
			found = append(found, vm)
		}
		return true
	})
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("namespace %q: %w: no VirtualMachine with %s", vms.Namespace(), match.ErrNotFound, by)
	case 1:
		return found[0], nil
	}
	for _, vm := range found {
		if vm.Name == node {
			return vm, nil
		}
	}
	return nil, fmt.Errorf("namespace %q: %s: %w: %v", vms.Namespace(), by, match.ErrAmbiguous, found)
}
