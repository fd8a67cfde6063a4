// Package address selects which of the addresses that a VM's guest reports are its node's. It is a function of its
// arguments alone: it asks nobody, keeps nothing, and says the same again for the same.
//
// For each address family, in order of preference, there is at most one internal and one external address. For each of
// the two, on its own, among the usable addresses of the VM's own adapters (none that a CNI made in the guest, none that
// is local), those first that the VM's guestinfo.metadata configures:
//
//  1. what lies in an excluded subnet never counts;
//  2. the first configured subnet with an address in it has the first such address;
//  3. else the first address on the configured VM network counts;
//  4. and when neither the internal nor the external one is found so, the first that is left is each.
//
// So does upstream (pkg/cloudprovider/vsphere/nodemanager.go, discoverIPs). Two things are ours: the kubelet's --node-ip
// is honored, without which the stock node controller refuses to initialize the node, and metadata that cannot be read
// is an error only where it could decide. [Rules.Upstream] leaves both out.
//
//	s, err := address.Select(address.Guest{Adapters: vm.Adapters}, address.Rules{Families: []config.IPFamily{config.IPv4}})
//
// Floor 1: of this module it imports packages config and guest of the provider.
package address
