package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// naming chooses valid names for a topology, pseudonyms or the vCenter's, and collects warnings.
type naming struct {
	pseudonyms *Pseudonyms
	warnings   []string
	warned     map[string]bool
}

// warn adds a warning once.
func (n *naming) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if n.warned == nil {
		n.warned = map[string]bool{}
	}
	if !n.warned[text] {
		n.warned[text] = true
		n.warnings = append(n.warnings, text)
	}
}

// name returns the name of an inventory object.
func (n *naming) name(kind, name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain // a vCenter escapes special characters of paths
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

// path returns a path with name applied to each part.
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

// dns returns a DNS name.
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

// label returns a text as a DNS label.
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

// duplicates returns the identities that occur twice, as in the vCenters.
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

// Pseudonyms maps names to pseudonyms in recordings. The same name always has the same pseudonym, in every recording with the
// same map, and only the map reveals the name. Create one with [LoadPseudonyms] or new; it is not safe for concurrent use.
type Pseudonyms struct {
	// Names, UUIDs, Addresses, Subnets and VLANs are keyed by the original.
	Names     map[string]string `json:"names"`
	UUIDs     map[string]string `json:"uuids"`
	Addresses map[string]string `json:"addresses"`
	Subnets   map[string]string `json:"subnets"`
	VLANs     map[string]int32  `json:"vlans,omitempty"`
	// Next is the next number by kind of name, and by subnet.
	Next map[string]int `json:"next"`
}

// LoadPseudonyms reads a map written by Save, or returns an empty one if the file does not exist.
func LoadPseudonyms(file string) (*Pseudonyms, error) {
	p := new(Pseudonyms)
	data, err := input.File(file, 16*input.MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err != nil:
		return nil, fmt.Errorf("pseudonyms: %w", err)
	}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("pseudonyms: %s: %w", file, err)
	}
	return p, nil
}

// Save writes the map atomically, readable only by its owner.
func (p *Pseudonyms) Save(file string) error {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("pseudonyms: %w", err)
	}
	if err := atomicfile.WriteFile(file, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("pseudonyms: %w", err)
	}
	return nil
}

// number returns the next number.
func (p *Pseudonyms) number(of string) int {
	if p.Next == nil {
		p.Next = map[string]int{}
	}
	p.Next[of]++
	return p.Next[of]
}

// Known returns the pseudonym of a name that has one.
func (p *Pseudonyms) Known(name string) (string, bool) {
	known, ok := p.Names[strings.ToLower(name)]
	return known, ok
}

// Name returns the pseudonym of a name. A new one begins with kind.
func (p *Pseudonyms) Name(kind, name string) string {
	key := strings.ToLower(name)
	if known, ok := p.Known(name); ok || name == "" {
		return known
	}
	if p.Names == nil {
		p.Names = map[string]string{}
	}
	p.Names[key] = fmt.Sprintf("%s-%d", kind, p.number(kind))
	return p.Names[key]
}

// DNS returns the pseudonym of a DNS name, label by label, so that names in one domain stay in one.
func (p *Pseudonyms) DNS(kind, name string) string {
	if name == "" {
		return ""
	}
	labels := strings.Split(name, ".")
	for i := range labels {
		labels[i] = p.Name(kind, labels[i])
		kind = "domain"
	}
	return strings.Join(labels, ".")
}

// UUID returns the pseudonym of a UUID: a number in its form.
func (p *Pseudonyms) UUID(id string) string {
	id = strings.ToLower(id)
	if known, ok := p.UUIDs[id]; ok || id == "" {
		return known
	}
	if p.UUIDs == nil {
		p.UUIDs = map[string]string{}
	}
	p.UUIDs[id] = fmt.Sprintf("42000000-0000-4000-8000-%012x", p.number("uuid"))
	return p.UUIDs[id]
}

// VLAN returns the pseudonym of a VLAN ID; zero, which means none, is unchanged.
func (p *Pseudonyms) VLAN(id int32) (int32, error) {
	if id == 0 {
		return 0, nil
	}
	key := strconv.Itoa(int(id))
	if known, ok := p.VLANs[key]; ok {
		return known, nil
	}
	n := p.number("vlan")
	if n > 4094 {
		return 0, errors.New("pseudonyms: more than 4094 VLANs")
	}
	if p.VLANs == nil {
		p.VLANs = map[string]int32{}
	}
	p.VLANs[key] = int32(n)
	return p.VLANs[key], nil
}

// Address returns the pseudonym of an address with prefix length. Addresses of one subnet stay in one: in 10.0.0.0/8 for IPv4, in
// fd00::/16 for IPv6. It changes the numbers of subnet and host, and keeps only whether the subnet is larger than a /24: then it
// becomes a /16.
func (p *Pseudonyms) Address(prefix netip.Prefix) (netip.Prefix, error) {
	subnet := prefix.Masked()
	if subnet.Addr().Is4() && (subnet.Bits() > 24 || subnet.Bits() < 16) || subnet.Addr().Is6() && subnet.Bits() != 64 {
		bits := 24
		if subnet.Addr().Is6() {
			bits = 64
		}
		subnet = netip.PrefixFrom(prefix.Addr(), bits).Masked()
	}
	stands, err := p.subnet(subnet)
	if err != nil {
		return netip.Prefix{}, err
	}
	key := prefix.Addr().String()
	if known, err := netip.ParseAddr(p.Addresses[key]); err == nil && stands.Contains(known) {
		return netip.PrefixFrom(known, stands.Bits()), nil
	}
	n := p.number(stands.String()) + 1 // the first is the gateway's
	bytes := stands.Addr().AsSlice()
	bytes[len(bytes)-1], bytes[len(bytes)-2] = byte(n), bytes[len(bytes)-2]|byte(n>>8)
	addr, _ := netip.AddrFromSlice(bytes)
	if size := 32 - stands.Bits(); addr.Is4() && n >= 1<<size-1 || n >= 1<<16 {
		return netip.Prefix{}, fmt.Errorf("pseudonyms: subnet %s is full", stands)
	}
	if p.Addresses == nil {
		p.Addresses = map[string]string{}
	}
	p.Addresses[key] = addr.String()
	return netip.PrefixFrom(addr, stands.Bits()), nil
}

// KnownAddress returns the pseudonym of an address that has one, in any subnet.
func (p *Pseudonyms) KnownAddress(address netip.Addr) (netip.Addr, bool) {
	known, err := netip.ParseAddr(p.Addresses[address.String()])
	return known, err == nil
}

// subnet returns the pseudonym of a subnet: a /16 of 10.0.0.0/8 shared by 256 small ones, or a whole one.
func (p *Pseudonyms) subnet(s netip.Prefix) (netip.Prefix, error) {
	if known, err := netip.ParsePrefix(p.Subnets[s.String()]); err == nil {
		return known, nil
	}
	var stands netip.Prefix
	switch {
	case s.Addr().Is6():
		n := p.number("subnet6")
		stands = netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, 0, 6: byte(n >> 8), 7: byte(n)}), 64)
	case s.Bits() == 24:
		n := p.number("subnet4") - 1
		stands = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n >> 8), byte(n)}), 24)
		if n >= 128<<8 {
			return stands, errors.New("pseudonyms: more than 32768 subnets")
		}
	default:
		n := p.number("subnet4 large") + 127
		if n > 255 {
			return stands, errors.New("pseudonyms: more than 128 large subnets")
		}
		stands = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n)}), 16)
	}
	if p.Subnets == nil {
		p.Subnets = map[string]string{}
	}
	p.Subnets[s.String()] = stands.String()
	return stands, nil
}
