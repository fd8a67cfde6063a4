package provider

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// find returns the VM that a node runs on, from the index: the one of its providerID; without a providerID the one of
// its system UUID, else of its hostname, else of an address of it. An error that wraps [inventory.ErrNotFound] says no
// more than that the index has none.
func (i instances) find(node *corev1.Node) (*inventory.VM, error) {
	i.inv = counting(i.inv, i.metrics, node)
	vm, err := i.match(node)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", node.Name, err)
	}
	return vm, nil
}

func (i instances) match(node *corev1.Node) (*inventory.VM, error) {
	switch {
	case node.Spec.ProviderID != "":
		return i.byProviderID(node)
	case i.choices.nameDecides:
		return i.byExactName(node)
	}
	if u, err := inventory.ParseUUID(node.Status.NodeInfo.SystemUUID); err == nil {
		r := i.inv.ByUUID(u)
		vm, err := i.oneOfUUID(withoutTemplates(r), node)
		// A vCenter that cannot be asked may hold the VM of this UUID. One elsewhere that happens to have the node's
		// name must not take its place.
		if err == nil || !errors.Is(err, inventory.ErrNotFound) || r.Doubt != nil {
			return vm, wrap(err, "system uuid "+u.String())
		}
	}
	return i.byName(node)
}

// byProviderID finds the VM that a node was bound to when it was initialized. Nothing else counts for it.
func (i instances) byProviderID(node *corev1.Node) (*inventory.VM, error) {
	u, err := i.boundTo(node)
	if err != nil {
		return nil, err
	}
	vm, err := i.oneOfUUID(i.inv.ByUUID(u), node)
	if err == nil {
		return vm, nil
	}
	err = fmt.Errorf("providerID %s: %w", node.Spec.ProviderID, err)
	if other, _ := i.elsewhere(node, u); other != nil {
		err = fmt.Errorf("%w, and %w", err, &staleError{node.Spec.ProviderID, other})
	}
	return nil, err
}

// boundTo returns the UUID in a node's providerID. As upstream's choice another provider's stands for one that nobody has.
func (i instances) boundTo(node *corev1.Node) (inventory.UUID, error) {
	u, err := parseProviderID(node.Spec.ProviderID)
	if errors.Is(err, ErrForeignProviderID) && i.choices.foreignIsUnknown {
		return inventory.UUID{0: 0xff}, nil
	}
	return u, err
}

// byName finds a node without a UUID that any vCenter knows: by hostname, then by address. It needs the answer of
// every vCenter: one that cannot be asked may hold another VM of that name.
func (i instances) byName(node *corev1.Node) (*inventory.VM, error) {
	notFound := inventory.ErrNotFound
	names := hostNames(node)
	for _, name := range names {
		vm, err := i.certain(i.inv.ByHostName(name), node)
		if err == nil || !errors.Is(err, inventory.ErrNotFound) {
			return vm, wrap(err, "hostname "+name)
		}
		notFound = err
	}
	ips := addressesOf(node)
	for _, ip := range ips {
		vm, err := i.certain(i.inv.ByIP(ip), node)
		if err == nil || !errors.Is(err, inventory.ErrNotFound) {
			return vm, wrap(err, "address "+ip.String())
		}
		notFound = err
	}
	return nil, fmt.Errorf("system uuid %q, hostnames %v, addresses %v: %w", node.Status.NodeInfo.SystemUUID, names, ips, notFound)
}

// certain is one for a name or an address, which proves nothing while r is in doubt.
func (i instances) certain(r inventory.Result, node *corev1.Node) (*inventory.VM, error) {
	if r.Doubt != nil {
		return nil, fmt.Errorf("%d vms match, but not every vcenter could be asked: %w", len(r.VMs), r.Doubt)
	}
	return i.one(withoutTemplates(r), node)
}

func wrap(err error, subject string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", subject, err)
}
