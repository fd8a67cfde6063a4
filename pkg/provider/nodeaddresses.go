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
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
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
	rules := address.Rules{
		Nodes:    i.cfg.Nodes,
		Families: i.cfg.VCenters[n].IPFamilies,
		NodeIPs:  providedNodeIPs(node),
		Upstream: i.choices.addressRulesAlone,
	}
	if initialized(node) && node.Spec.ProviderID != "" {
		rules.Current = currentAddresses(node)
	}
	list, warning, err = addresses(vm, rules, func(ip netip.Addr) string { return others(vm, i.inv.ByIP(ip).VMs) })
	if err != nil || i.choices.guestHostName || node.Name == "" {
		return list, warning, err
	}
	name, problem := i.hostName(vm, node)
	list[0].Address = name
	if problem != nil {
		warning = joinWarnings(wrap(problem, "vm "+vm.String()), warning)
	}
	return list, warning, nil
}

// hostName returns the Hostname address of a node: its name, or the guest's hostname if that is the same name in another case,
// or with or without the domain. A guest may have another name: that of a template, or one that was cut to 15 characters
// (rancher #50089). kube-apiserver may dial a node by it.
func (i instances) hostName(vm *inventory.VM, node *corev1.Node) (name string, p *address.Problem) {
	exactly, shortly := match.SameHostName(vm.HostName, node.Name)
	_, notName := netip.ParseAddr(node.Name)
	label, _, _ := strings.Cut(match.FoldHostName(vm.HostName), ".")
	with, local := others(vm, i.inv.ByHostName(vm.HostName).VMs), label == "localhost"
	// A name that is an address says nothing about the guest's.
	agrees := exactly || shortly || notName == nil && with == "" && !local
	if name = vm.HostName; !agrees {
		name = node.Name
	}
	switch {
	case local:
		p = &address.Problem{Reason: address.HostNameLocal, Message: fmt.Sprintf("the guest reports the hostname %q: give it its own", vm.HostName), Notice: agrees}
	case with != "":
		p = &address.Problem{Reason: address.HostNameShared, Message: fmt.Sprintf("%s reports the hostname %q too: give each guest its own", with, vm.HostName), Notice: agrees}
	}
	if p != nil && !agrees {
		p.Message += "; the node's Hostname address is its name"
	}
	return name, p
}

// others describes the VMs besides vm that are on, "" for none. It omits templates, and other registrations of the same VM.
func others(vm *inventory.VM, found []*inventory.VM) string {
	var names []string
	for _, o := range found {
		if o != vm && (o.VCenter != vm.VCenter || o.Ref != vm.Ref) && !o.Template && !o.UUID.Equal(vm.UUID) && o.Power == types.VirtualMachinePowerStatePoweredOn {
			names = append(names, o.String())
		}
	}
	const most = 3
	slices.Sort(names)
	switch n := len(names); {
	case n == 0:
		return ""
	case n > most:
		return fmt.Sprintf("vm %s and %d more", strings.Join(names[:most], ", "), n-most)
	}
	return "vm " + strings.Join(names, ", ")
}

// currentAddresses returns the addresses that a node has from its provider.
func currentAddresses(node *corev1.Node) (list []address.Address) {
	for _, a := range node.Status.Addresses {
		kind := address.Kind(a.Type)
		if ip, err := netip.ParseAddr(a.Address); err == nil && (kind == address.Internal || kind == address.External) {
			list = append(list, address.Address{Kind: kind, IP: ip.Unmap()})
		}
	}
	return list
}

// joinWarnings is joinErrors with notices last, so that the first one gives the Event its reason and type.
func joinWarnings(a, b error) error {
	if a != nil && b != nil && isNotice(a, reasonOf(a)) && !isNotice(b, reasonOf(b)) {
		a, b = b, a
	}
	return joinErrors(a, b)
}

// isNotice reports whether err, which has this reason, affects nothing: see [address.Problem].
func isNotice(err error, reason string) bool {
	p, ok := errors.AsType[*address.Problem](err)
	return ok && p.Notice && string(p.Reason) == reason
}

// addresses returns a node's addresses: the guest's hostname as reported, and those that rules select. Every error and
// warning about them is an [address.Problem].
// sharedWith may be nil.
func addresses(vm *inventory.VM, rules address.Rules, sharedWith func(netip.Addr) string) (list []corev1.NodeAddress, warning, err error) {
	if vm.HostName == "" {
		// A node must not be initialized before its guest is up: kubernetes/cloud-provider-vsphere#383.
		return nil, nil, addressError(vm, &address.Problem{
			Reason: address.GuestNotReporting, Message: "guest reports no hostname: VMware Tools (open-vm-tools) does not run in it, or has not started yet",
		})
	}
	s, err := address.Select(address.Guest{Adapters: vm.Adapters, Static: vm.Static, StaticErr: vm.StaticErr, SharedWith: sharedWith}, rules)
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
			warning = joinWarnings(warning, w)
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
