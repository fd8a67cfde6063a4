package provider

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// choices are the behaviors in which this package and upstream's provider (kubernetes/cloud-provider-vsphere v1.36; the
// paths are its own) differ on purpose, one field each; false selects ours. Where upstream's answer depends on map order or
// on the state of a cache, the answer here is always the same. Zones have a separate choice: see inventory.Config.
type choices struct {
	// nameDecides: a node without a providerID is bound by name alone: to the VM with exactly that guest hostname, else to
	// the VM with the address that the name is, even while a vCenter is unreachable. The system UUID only selects one of
	// several. pkg/cloudprovider/vsphere/instances.go, InstanceID; nodemanager.go, RegisterNode.
	nameDecides bool
	// FirstOfSeveral: of several VMs with the same UUID or address, or with the same hostname in different datacenters, any
	// one is returned. pkg/common/connectionmanager/search.go.
	// ForeignIsUnknown: a providerID of another provider is a UUID that no VM has, so that the node is deleted.
	// pkg/cloudprovider/vsphere/util.go, GetUUIDFromProviderID.
	// ProviderIDAlone: only the providerID decides whether a node exists, not its system UUID.
	// pkg/cloudprovider/vsphere/instances.go, InstanceExistsByProviderID.
	match.Behavior
	// searchSuffices: a VM is gone if it is outside the configured datacenters, or hidden behind a VM that cannot be
	// identified. Same file.
	searchSuffices bool
	// guestFirst: InstanceExists returns an error while the guest reports no hostname, adapters or addresses, so that a VM
	// that is off may never be reported as off. nodemanager.go, DiscoverNode.
	guestFirst bool
	// noAnnotation: Nodes get no VM annotation, and an existing one is ignored. Upstream has none.
	noAnnotation bool
	// zoneHoldsAddresses: while a tag is missing, the addresses of an initialized node are not updated either.
	// instances_v2.go, InstanceMetadata.
	zoneHoldsAddresses bool
	// addressRulesAlone: addresses are selected without the kubelet's --node-ip, and not at all while guestinfo.metadata
	// cannot be read. nodemanager.go, discoverIPs and sortStaticallyConfiguredAddressesFirst.
	addressRulesAlone bool
	// guestHostName: the Hostname address is what the guest reports, even if that is not the node's name. Same file.
	guestHostName bool
	// anyTagName: tags are used even if their names are not valid label values. Same file.
	anyTagName bool
	// dualStackGated: two address families are an error unless the environment sets ENABLE_ALPHA_DUAL_STACK. cloud.go.
	dualStackGated bool
}

func choicesOf(p Parity) choices {
	if p != ParityUpstream {
		return choices{}
	}
	return choices{
		nameDecides:        true,
		Behavior:           match.Behavior{FirstOfSeveral: true, ForeignIsUnknown: true, ProviderIDAlone: true},
		searchSuffices:     true,
		guestFirst:         true,
		noAnnotation:       true,
		zoneHoldsAddresses: true,
		addressRulesAlone:  true,
		guestHostName:      true,
		anyTagName:         true,
		dualStackGated:     true,
	}
}

// check validates o for cfg.
func (o Options) check(cfg *config.Config) error {
	if o.Parity != "" && o.Parity != ParityUpstream {
		return fmt.Errorf("parity %q: unknown; use %q or leave it empty", o.Parity, ParityUpstream)
	}
	if err := checkNodeLabels(o.NodeLabels); err != nil {
		return err
	}
	if !choicesOf(o.Parity).dualStackGated || cfg.AlphaDualStack {
		return nil
	}
	for _, vc := range cfg.VCenters {
		if len(vc.IPFamilies) > 1 {
			return fmt.Errorf("vcenter %q: ip families %v: with parity %q two families need %s in the environment",
				vc.Tenant, vc.IPFamilies, o.Parity, "ENABLE_ALPHA_DUAL_STACK")
		}
	}
	return nil
}

// byExactName finds the VM of a node without a providerID as upstream does. Upstream caches the VM of a node's system UUID
// under the hostname of its guest, so the name must match exactly.
func (i instances) byExactName(node *corev1.Node) (*inventory.VM, error) {
	if u, err := match.ParseUUID(node.Status.NodeInfo.SystemUUID); err == nil {
		// The swapped order first, as RegisterNode does.
		if vm, err := match.One(i.inv.ByUUID(u.Swapped()), node.Name, i.choices.Behavior); err == nil && vm.HostName == node.Name {
			return vm, nil
		}
	}
	r := i.inv.ByHostName(node.Name)
	r.VMs = slices.DeleteFunc(slices.Clone(r.VMs), func(vm *inventory.VM) bool { return !strings.EqualFold(vm.HostName, node.Name) })
	if err := i.sameDatacenter(r.VMs); err != nil {
		return nil, wrap(err, "hostname "+node.Name)
	}
	vm, err := match.One(r, node.Name, i.choices.Behavior)
	switch {
	case err == nil && vm.HostName != node.Name:
		return nil, fmt.Errorf("vm %s: guest hostname %q is not exactly the node's name: %w", vm, vm.HostName, match.ErrNotFound)
	case err == nil || !errors.Is(err, match.ErrNotFound) || r.Doubt != nil:
		return vm, wrap(err, "hostname "+node.Name)
	}
	if ip, parseErr := netip.ParseAddr(node.Name); parseErr == nil {
		vm, err = match.One(i.inv.ByIP(ip), node.Name, i.choices.Behavior)
	}
	return vm, wrap(err, "hostname or address "+node.Name)
}

// sameDatacenter returns an error if two of the VMs are in one datacenter. Upstream refuses only that case.
func (i instances) sameDatacenter(vms []*inventory.VM) error {
	seen := map[[2]string]bool{}
	for _, vm := range vms {
		place := [2]string{vm.VCenter, i.inv.Datacenter(vm)}
		if seen[place] {
			return fmt.Errorf("%w: %v", match.ErrAmbiguous, vms)
		}
		seen[place] = true
	}
	return nil
}
