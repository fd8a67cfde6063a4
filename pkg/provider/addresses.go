package provider

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// addresses returns the addresses that the configuration selects from those that the VM's guest reports.
func (i instances) addresses(vm *inventory.VM, node *corev1.Node) ([]corev1.NodeAddress, error) {
	list, _, err := i.selected(vm, node)
	return list, err
}

// selected is addresses with a warning, which is worth reporting but does not prevent the answer.
func (i instances) selected(vm *inventory.VM, node *corev1.Node) (list []corev1.NodeAddress, warning, err error) {
	n := slices.IndexFunc(i.cfg.VCenters, func(vc config.VCenter) bool { return vc.Tenant == vm.VCenter })
	if n < 0 {
		return nil, nil, fmt.Errorf("vm %s: vcenter is not configured", vm)
	}
	return addresses(vm, address.Rules{
		Nodes:    i.cfg.Nodes,
		Families: i.cfg.VCenters[n].IPFamilies,
		NodeIPs:  providedNodeIPs(node),
		Upstream: i.choices.addressRulesAlone,
	})
}

// addresses returns a node's addresses: the guest's hostname as reported, and those that rules select. Every error and
// warning about them is an [address.Problem].
func addresses(vm *inventory.VM, rules address.Rules) (list []corev1.NodeAddress, warning, err error) {
	if vm.HostName == "" {
		// A node must not be initialized before its guest is up: kubernetes/cloud-provider-vsphere#383.
		return nil, nil, addressError(vm, &address.Problem{
			Reason: address.GuestNotReporting, Message: "guest reports no hostname: VMware Tools (open-vm-tools) does not run in it, or has not started yet",
		})
	}
	s, err := address.Select(address.Guest{Adapters: vm.Adapters, Static: vm.Static, StaticErr: vm.StaticErr}, rules)
	if err != nil {
		return nil, nil, addressError(vm, err)
	}
	list = make([]corev1.NodeAddress, 0, 1+len(s.Addresses))
	list = append(list, corev1.NodeAddress{Type: corev1.NodeHostName, Address: vm.HostName})
	for _, a := range s.Addresses {
		list = append(list, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Kind), Address: a.IP.String()})
	}
	for _, w := range s.Warnings {
		// A configuration with internal addresses alone is deliberate.
		if w.Reason != address.NoExternalAddress {
			warning = joinErrors(warning, w)
		}
	}
	return list, wrap(warning, "vm "+vm.String()), nil
}

// providedNodeIPs returns the addresses of the kubelet's --node-ip flag. It skips invalid ones: the node controller
// refuses those.
func providedNodeIPs(node *corev1.Node) []netip.Addr {
	text, ok := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]
	if !ok {
		return nil
	}
	var ips []netip.Addr
	for s := range strings.SplitSeq(text, ",") {
		if ip, err := netip.ParseAddr(strings.TrimSpace(s)); err == nil {
			ips = append(ips, ip.Unmap())
		}
	}
	return ips
}

// errOff reports that a guest reports nothing because its VM does not run.
var errOff = errors.New("does not run")

// addressError wraps err with the VM. If the VM is off or suspended, it gives that as the reason.
func addressError(vm *inventory.VM, err error) error {
	var p *address.Problem
	if errors.As(err, &p) && p.Reason == address.GuestNotReporting {
		switch vm.Power {
		case types.VirtualMachinePowerStatePoweredOff:
			return fmt.Errorf("vm %s %w: %w", vm, errOff, &address.Problem{Reason: p.Reason, Message: "it is off; power it on"})
		case types.VirtualMachinePowerStateSuspended:
			return fmt.Errorf("vm %s %w: %w", vm, errOff, &address.Problem{Reason: p.Reason, Message: "it is suspended; power it on"})
		}
	}
	return fmt.Errorf("vm %s (%s): %w", vm, vm.Power, err)
}
