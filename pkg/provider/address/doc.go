// Package address selects a node's addresses from those that its VM's guest reports. The result depends only on the
// arguments: the package makes no calls and keeps no state.
//
// For each address family, in order of preference, it selects at most one internal and one external address. It considers
// the usable addresses on the VM's own adapters, not those that a CNI created in the guest and not local ones; addresses in
// the VM's guestinfo.metadata come first. For internal and external separately:
//
//  1. addresses in an excluded subnet never count;
//  2. the first configured subnet that contains an address selects the first such address;
//  3. else the first address on the configured VM network is selected;
//  4. if neither the internal nor the external address is found like that, both are the first one that is left.
//
// These are upstream's rules (pkg/cloudprovider/vsphere/nodemanager.go, discoverIPs), with additions:
//
//   - the kubelet's --node-ip is honored, because the stock node controller refuses to initialize the node without it;
//   - of the addresses that a rule does not distinguish, those that may not be the VM's own come last: virtual IPs and those
//     that another VM reports. An initialized node keeps its current one;
//   - unreadable metadata is an error only if it could decide.
//
// [Rules.Upstream] disables these.
//
//	s, err := address.Select(address.Guest{Adapters: vm.Adapters}, address.Rules{Families: []config.IPFamily{config.IPv4}})
//
// Floor 1: of this module it imports packages config and guest of the provider.
package address
