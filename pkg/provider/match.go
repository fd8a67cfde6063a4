package provider

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// find returns the VM that a node runs on, from the index. An error that wraps [inventory.ErrNotFound] says no more
// than that the index has none.
func (p *Provider) find(node *v1.Node) (*inventory.VM, error) {
	vm, err := p.match(node)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", node.Name, err)
	}
	return vm, nil
}

func (p *Provider) match(node *v1.Node) (*inventory.VM, error) {
	if id := node.Spec.ProviderID; id != "" {
		u, err := parseProviderID(id)
		if err != nil {
			return nil, err
		}
		vm, err := one(p.inv.ByUUID(u), node)
		if err != nil {
			return nil, fmt.Errorf("providerID %s: %w", id, err)
		}
		return vm, nil
	}
	if u, err := inventory.ParseUUID(node.Status.NodeInfo.SystemUUID); err == nil {
		r := p.inv.ByUUID(u)
		vm, err := one(withoutTemplates(r), node)
		// A vCenter that cannot be asked may hold the VM of this UUID. One elsewhere that happens to have the node's
		// name must not take its place.
		if err == nil || !errors.Is(err, inventory.ErrNotFound) || r.Doubt != nil {
			return vm, wrap(err, "system uuid "+u.String())
		}
	}
	return p.matchByName(node)
}

// matchByName finds a node without a UUID that any vCenter knows: by hostname, then by address. It needs the answer of
// every vCenter: one that cannot be asked may hold another VM of that name.
func (p *Provider) matchByName(node *v1.Node) (*inventory.VM, error) {
	var notFound error
	names := hostNames(node)
	for _, name := range names {
		vm, err := certain(p.inv.ByHostName(name), node)
		if err == nil || !errors.Is(err, inventory.ErrNotFound) {
			return vm, wrap(err, "hostname "+name)
		}
		notFound = err
	}
	ips := addressesOf(node)
	for _, ip := range ips {
		vm, err := certain(p.inv.ByIP(ip), node)
		if err == nil || !errors.Is(err, inventory.ErrNotFound) {
			return vm, wrap(err, "address "+ip.String())
		}
		notFound = err
	}
	return nil, fmt.Errorf("system uuid %q, hostnames %v, addresses %v: %w", node.Status.NodeInfo.SystemUUID, names, ips, notFound)
}

// certain is [one] for a name or an address, which proves nothing while r is in doubt.
func certain(r inventory.Result, node *v1.Node) (*inventory.VM, error) {
	if r.Doubt != nil {
		return nil, fmt.Errorf("%d vms match, but not every vcenter could be asked: %w", len(r.VMs), r.Doubt)
	}
	return one(withoutTemplates(r), node)
}

// one returns the only VM of r, or among several with the same UUID (a clone keeps it if made carelessly) the only
// one whose guest has the node's name.
func one(r inventory.Result, node *v1.Node) (*inventory.VM, error) {
	vm, err := r.One()
	if !errors.Is(err, inventory.ErrAmbiguous) {
		return vm, err
	}
	named := slices.DeleteFunc(slices.Clone(r.VMs), func(vm *inventory.VM) bool {
		return !strings.EqualFold(vm.HostName, node.Name)
	})
	if len(named) == 1 {
		return named[0], nil
	}
	return nil, err
}

// withoutTemplates drops VMs that no node can be bound to. A node already bound to one keeps it.
func withoutTemplates(r inventory.Result) inventory.Result {
	if slices.ContainsFunc(r.VMs, func(vm *inventory.VM) bool { return vm.Template }) {
		r.VMs = slices.DeleteFunc(slices.Clone(r.VMs), func(vm *inventory.VM) bool { return vm.Template })
	}
	return r
}

// hostNames returns the names that the node's guest may go by: the node's own, and what the kubelet reports.
func hostNames(node *v1.Node) []string {
	names := []string{node.Name}
	add := func(name string) {
		if name != "" && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			names = append(names, name)
		}
	}
	for _, a := range node.Status.Addresses {
		if a.Type == v1.NodeHostName {
			add(a.Address)
		}
	}
	add(node.Labels[v1.LabelHostname])
	return names
}

// addressesOf returns the addresses that the kubelet was given or reports. A node whose name is an address counts.
func addressesOf(node *v1.Node) []netip.Addr {
	texts := []string{node.Name}
	texts = append(texts, strings.Split(node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr], ",")...)
	for _, a := range node.Status.Addresses {
		if a.Type == v1.NodeInternalIP {
			texts = append(texts, a.Address)
		}
	}
	var ips []netip.Addr
	for _, s := range texts {
		if ip, err := netip.ParseAddr(strings.TrimSpace(s)); err == nil && !slices.Contains(ips, ip) {
			ips = append(ips, ip)
		}
	}
	return ips
}

func wrap(err error, subject string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", subject, err)
}
