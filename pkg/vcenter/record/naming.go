package record

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// naming makes names that a topology takes, pseudonyms or the vCenter's own, and keeps what is to be said of it.
type naming struct {
	pseudonyms *Pseudonyms
	warnings   []string
	told       map[string]bool
}

// warn says something once.
func (n *naming) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if n.told == nil {
		n.told = map[string]bool{}
	}
	if !n.told[text] {
		n.told[text] = true
		n.warnings = append(n.warnings, text)
	}
}

// name is for an object of the inventory.
func (n *naming) name(kind, name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain // a vCenter escapes what a path needs
	}
	if n.pseudonyms != nil {
		return n.pseudonyms.Name(kind, name)
	}
	clean := strings.TrimSpace(strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\%{}`, r) || unicode.IsControl(r) {
			return '-'
		}
		return r
	}, name))
	if len(clean) > 80 {
		clean = strings.TrimSpace(strings.ToValidUTF8(clean[:80], ""))
	}
	if clean != name {
		n.warn("%s %q is recorded as %q: a topology does not take its name", kind, name, clean)
	}
	return clean
}

// path is name for each part of a path.
func (n *naming) path(kind, path string) string {
	if path == "" {
		return ""
	}
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = n.name(kind, parts[i])
	}
	return strings.Join(parts, "/")
}

// dns is for a DNS name.
func (n *naming) dns(kind, name string) string {
	if n.pseudonyms == nil {
		return name
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return n.pseudonyms.Name(kind, name)
	}
	return n.pseudonyms.DNS(kind, name)
}

func (n *naming) uuid(id string) string {
	if n.pseudonyms != nil {
		return n.pseudonyms.UUID(id)
	}
	return strings.ToLower(id)
}

// label makes a DNS label of anything.
func label(name string) string {
	mapped := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	mapped = strings.Trim(mapped, "-")
	if len(mapped) > 63 {
		mapped = strings.Trim(mapped[:63], "-")
	}
	if mapped == "" {
		return "vcenter"
	}
	return mapped
}

// duplicates are the things that are there twice, as in the vCenters.
func duplicates(top *topology.Topology) []topology.Duplicate {
	seen, twice := map[string]bool{}, map[topology.Duplicate]bool{}
	note := func(kind topology.Duplicate, value string) {
		if value = string(kind) + " " + strings.ToLower(value); seen[value] {
			twice[kind] = true
		}
		seen[value] = true
	}
	for _, v := range top.Spec.VCenters {
		for _, dc := range v.Datacenters {
			for _, vm := range dc.VMs {
				note(topology.DuplicateName, v.Name+"/"+dc.Name+"/"+vm.Folder+"/"+vm.Name)
				if vm.UUID != "" {
					note(topology.DuplicateUUID, vm.UUID)
				}
				if vm.InstanceUUID != "" {
					note(topology.DuplicateInstanceUUID, vm.InstanceUUID)
				}
				if vm.IsNode() {
					note(topology.DuplicateHostname, vm.Hostname)
				}
				for _, nic := range vm.NICs {
					if nic.MAC != "" {
						note(topology.DuplicateMAC, nic.MAC)
					}
					for _, address := range nic.Addresses {
						if p, err := netip.ParsePrefix(address); err == nil {
							note(topology.DuplicateAddress, p.Addr().String())
						}
					}
				}
			}
		}
	}
	var all []topology.Duplicate
	for _, kind := range []topology.Duplicate{
		topology.DuplicateName, topology.DuplicateHostname, topology.DuplicateUUID, topology.DuplicateInstanceUUID,
		topology.DuplicateAddress, topology.DuplicateMAC,
	} {
		if twice[kind] {
			all = append(all, kind)
		}
	}
	return all
}
