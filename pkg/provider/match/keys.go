package match

import (
	"net/netip"
	"slices"
	"strings"
)

// Keys returns keys for an index of many VMs: [Find] considers only VMs that have one of them in [VM.Keys].
func (n Node) Keys() (keys []string) {
	if u, err := n.UUID(); err == nil {
		keys = append(keys, u.key())
	}
	if n.ProviderID != "" {
		return keys
	}
	for _, name := range n.Names() {
		keys = append(keys, nameKey(name))
	}
	return append(keys, addressKeys(n.Addresses())...)
}

// Keys returns the keys of a VM; see [Node.Keys].
func (vm VM) Keys() (keys []string) {
	if vm.UUID != (UUID{}) {
		keys = append(keys, vm.UUID.key())
	}
	if vm.HostName != "" {
		keys = append(keys, nameKey(vm.HostName))
	}
	return append(keys, addressKeys(vm.Addresses)...)
}

// nameKey is the same for names that [SameHostName] takes for the same.
func nameKey(name string) string {
	label, _, _ := strings.Cut(FoldHostName(name), ".")
	return "name " + label
}

func addressKeys(ips []netip.Addr) (keys []string) {
	for _, ip := range ips {
		keys = append(keys, "ip "+ip.Unmap().WithZone("").String())
	}
	return keys
}

// ParseAddresses returns the valid IP addresses in texts, without duplicates.
func ParseAddresses(texts []string) (ips []netip.Addr) {
	for _, s := range texts {
		if ip, err := netip.ParseAddr(strings.TrimSpace(s)); err == nil && !slices.Contains(ips, ip) {
			ips = append(ips, ip)
		}
	}
	return ips
}

// FoldHostName returns the canonical form of a DNS name for comparisons. It allocates only for upper-case names.
func FoldHostName(s string) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimSpace(s), "."))
}

// SameHostName reports whether a guest's hostname matches name: exactly, ignoring case, or shortly, if one of them is the
// first label of the other. A full name in another domain does not match.
func SameHostName(guest, name string) (exactly, shortly bool) {
	guest, name = FoldHostName(guest), FoldHostName(name)
	if guest == "" || name == "" {
		return false, false
	}
	label, _, full := strings.Cut(guest, ".")
	other, _, fullToo := strings.Cut(name, ".")
	return guest == name, full != fullToo && label == other
}
