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

// choices are the decisions in which this package and upstream's provider (kubernetes/cloud-provider-vsphere v1.36,
// whose paths are given) differ on purpose, one field each; false is ours. Where upstream's answer depends on the order
// of a map or on what a process happens to have cached, this one is always the same. Zones have a choice of their own:
// see inventory.Config.
type choices struct {
	// nameDecides: a node without a providerID is bound by name alone, to the VM whose guest has exactly that hostname,
	// else the address that the name is, even while a vCenter is out. The system UUID only decides between several.
	// pkg/cloudprovider/vsphere/instances.go, InstanceID; nodemanager.go, RegisterNode.
	nameDecides bool
	// FirstOfSeveral: one of several VMs with the same UUID or address, or of the same hostname in different datacenters, is as
	// good as another. pkg/common/connectionmanager/search.go.
	// ForeignIsUnknown: a providerID of another provider is a UUID that nobody has, so that the node is deleted.
	// pkg/cloudprovider/vsphere/util.go, GetUUIDFromProviderID.
	// ProviderIDAlone: what becomes of a node follows from its providerID, whatever VM its system UUID is of.
	// pkg/cloudprovider/vsphere/instances.go, InstanceExistsByProviderID.
	match.Choices
	// searchSuffices: a VM outside the configured datacenters, or hidden behind one that cannot be identified, is gone.
	// The same place.
	searchSuffices bool
	// guestFirst: whether a VM exists is an error while its guest reports no hostname, adapters or addresses, so that a
	// VM that is off may never be called that. nodemanager.go, DiscoverNode.
	guestFirst bool
	// nothingRemembered: Nodes get no annotation of their VM, and one that they have does not count. Upstream has none.
	nothingRemembered bool
	// zoneHoldsAddresses: while a tag is missing, a node that has been initialized gets no new addresses either.
	// instances_v2.go, InstanceMetadata.
	zoneHoldsAddresses bool
	// addressRulesAlone: addresses are selected without regard to the kubelet's --node-ip, and not at all while
	// guestinfo.metadata cannot be read. nodemanager.go, discoverIPs and sortStaticallyConfiguredAddressesFirst.
	addressRulesAlone bool
	// anyTagName: tags whose names cannot be label values are tried nevertheless. The same place.
	anyTagName bool
	// dualStackGated: two address families are an error without ENABLE_ALPHA_DUAL_STACK in the environment. cloud.go.
	dualStackGated bool
}

func choicesOf(p Parity) choices {
	if p != ParityUpstream {
		return choices{}
	}
	return choices{
		nameDecides:        true,
		Choices:            match.Choices{FirstOfSeveral: true, ForeignIsUnknown: true, ProviderIDAlone: true},
		searchSuffices:     true,
		guestFirst:         true,
		nothingRemembered:  true,
		zoneHoldsAddresses: true,
		addressRulesAlone:  true,
		anyTagName:         true,
		dualStackGated:     true,
	}
}

// check returns what is wrong with o for cfg.
func (o Options) check(cfg *config.Config) error {
	if o.Parity != "" && o.Parity != ParityUpstream {
		return fmt.Errorf("parity %q: unknown, only %q is known", o.Parity, ParityUpstream)
	}
	if err := checkNodeLabels(o.NodeLabels); err != nil {
		return err
	}
	if !choicesOf(o.Parity).dualStackGated || cfg.AlphaDualStack {
		return nil
	}
	for _, vc := range cfg.VCenters {
		if len(vc.IPFamilies) > 1 {
			return fmt.Errorf("vcenter %q: ip families %v: with parity %q two need %s in the environment",
				vc.Tenant, vc.IPFamilies, o.Parity, "ENABLE_ALPHA_DUAL_STACK")
		}
	}
	return nil
}

// byExactName is upstream's way to the VM of a node without a providerID. Upstream remembers the VM of a node's system
// UUID under the hostname of its guest, so that the name has to be the same.
func (i instances) byExactName(node *corev1.Node) (*inventory.VM, error) {
	if u, err := match.ParseUUID(node.Status.NodeInfo.SystemUUID); err == nil {
		// The swapped order first, as RegisterNode does.
		if vm, err := match.One(i.inv.ByUUID(u.Swapped()), node.Name, i.choices.Choices); err == nil && vm.HostName == node.Name {
			return vm, nil
		}
	}
	r := i.inv.ByHostName(node.Name)
	r.VMs = slices.DeleteFunc(slices.Clone(r.VMs), func(vm *inventory.VM) bool { return !strings.EqualFold(vm.HostName, node.Name) })
	if err := i.sameDatacenter(r.VMs); err != nil {
		return nil, wrap(err, "hostname "+node.Name)
	}
	vm, err := match.One(r, node.Name, i.choices.Choices)
	switch {
	case err == nil && vm.HostName != node.Name:
		return nil, fmt.Errorf("vm %s: guest hostname %q is not exactly the node's name: %w", vm, vm.HostName, match.ErrNotFound)
	case err == nil || !errors.Is(err, match.ErrNotFound) || r.Doubt != nil:
		return vm, wrap(err, "hostname "+node.Name)
	}
	if ip, parseErr := netip.ParseAddr(node.Name); parseErr == nil {
		vm, err = match.One(i.inv.ByIP(ip), node.Name, i.choices.Choices)
	}
	return vm, wrap(err, "hostname or address "+node.Name)
}

// sameDatacenter is an error when two of the VMs lie in one datacenter: upstream refuses those alone.
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
