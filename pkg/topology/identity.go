package topology

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// identities are the assigned identities, with their fields. Each kind is unique in the topology: cloud providers search for
// nodes by them in all vCenters.
type identities struct {
	*problems
	top                                  *Topology
	vcenters, bios, instances, macs, ips map[string]*path
	// pool marks used numbers of derived addresses; if it is used up, that is reported once.
	pool   []bool
	usedUp bool
}

// identify checks the identities in the file, and then derives the missing ones, so that a derived one never conflicts with a
// given one.
func identify(p *problems, t *Topology, sites []*site) {
	d := &identities{
		problems: p, top: t,
		vcenters: map[string]*path{}, bios: map[string]*path{}, instances: map[string]*path{},
		macs: map[string]*path{}, ips: map[string]*path{}, pool: make([]bool, addresses),
	}
	for _, s := range sites {
		s.subnets = subnets(s.datacenter)
	}
	d.each(sites, d.givenVM)
	for i := range t.Spec.VCenters {
		d.given(&t.Spec.VCenters[i].InstanceUUID, vcentersPath().item(i).key("instanceUUID"), parseUUID, d.vcenters, "")
	}
	if p.Len() > 0 {
		return // later ones would be duplicates of this error
	}
	for i := range t.Spec.VCenters {
		vcenter := &t.Spec.VCenters[i]
		d.uuid(&vcenter.InstanceUUID, d.vcenters, "vcenter", vcenter.Name)
	}
	d.each(sites, d.deriveVM)
}

func (d *identities) each(sites []*site, do func(s *site, vm *VM, at *path)) {
	for _, s := range sites {
		for i := range s.datacenter.VMs {
			do(s, &s.datacenter.VMs[i], s.vms[i])
		}
	}
}

func (d *identities) givenVM(s *site, vm *VM, at *path) {
	d.given(&vm.UUID, at.key("uuid"), parseUUID, d.bios, DuplicateUUID)
	d.given(&vm.InstanceUUID, at.key("instanceUUID"), parseUUID, d.instances, DuplicateInstanceUUID)
	for i := range vm.NICs {
		nic, on := &vm.NICs[i], s.subnets[vm.NICs[i].Network]
		if nic.MAC != "" {
			d.given(&nic.MAC, at.key("nics").item(i).key("mac"), parseMAC, d.macs, DuplicateMAC)
		}
		for j := range nic.Addresses {
			d.address(&nic.Addresses[j], on, at.key("nics").item(i).key("addresses").item(j))
		}
		if on != nil && len(nic.Addresses) == 0 && vm.Template != Yes {
			on.needs[at]++
		}
	}
}

// given normalizes an identity and reports an invalid or duplicate one.
func (d *identities) given(value *string, at *path, parse func(string) (string, error), taken map[string]*path, kind Duplicate) {
	if *value == "" {
		return
	}
	usual, err := parse(*value)
	if err != nil {
		d.field(at, "", "%v", err)
		return
	}
	*value = usual
	d.claim(usual, at, taken, kind)
}

func (d *identities) address(value *string, on *subnet, at *path) {
	var network netip.Prefix
	if on != nil {
		network = on.prefix
	}
	prefix, err := parseAddress(*value, network)
	if err != nil {
		d.field(at, "", "%v", err)
		return
	}
	*value = prefix.String()
	address := prefix.Addr()
	if on != nil && address == on.gateway && !d.top.Spec.AllowsDuplicate(DuplicateAddress) {
		d.field(at, "", "%s is the gateway of network %s", address, strict.Shown(on.network))
		return
	}
	d.claim(address.String(), at, d.ips, DuplicateAddress)
	if n, ok := derivedNumber(address); ok {
		d.pool[n] = true
	}
}

func (d *identities) claim(value string, at *path, taken map[string]*path, kind Duplicate) {
	first, is := taken[value]
	if !is {
		taken[value] = at
	} else if !d.top.Spec.AllowsDuplicate(kind) && !d.has(at) {
		d.field(at, "", "%s is already that of %s, on line %s", value, first, d.line(at, first))
	}
}

func (d *identities) deriveVM(s *site, vm *VM, at *path) {
	where := []string{s.vcenter.Name, s.datacenter.Name, vm.Folder, vm.Name}
	d.uuid(&vm.UUID, d.bios, "bios", where...)
	d.uuid(&vm.InstanceUUID, d.instances, "instance", where...)
	for i := range vm.NICs {
		nic, where := &vm.NICs[i], append(where, strconv.Itoa(i))
		if nic.MAC == "" {
			probe(d.start("mac", macs, where), macs, func(n uint64) bool {
				nic.MAC = derivedMAC(n)
				return take(d.macs, nic.MAC)
			})
		}
		switch on := s.subnets[nic.Network]; {
		case len(nic.Addresses) > 0, vm.Template == Yes:
		case on != nil:
			d.allot(nic, on, where, at)
		default:
			d.deriveAddress(nic, where, at)
		}
	}
}

func (d *identities) deriveAddress(nic *NIC, where []string, at *path) {
	if d.usedUp {
		return
	}
	d.usedUp = !probe(d.start("ipv4", addresses, where), addresses, func(n uint64) bool {
		address, fit := derivedAddress(n)
		if !fit || d.pool[n] {
			return false
		}
		d.pool[n] = true
		nic.Addresses = []string{netip.PrefixFrom(address, derivedBits).String()}
		return true
	})
	if d.usedUp {
		d.field(at, "", "gets no IPv4 address, as 198.18.0.0/15 is used up: give addresses to some VMs, or networks a cidr")
	}
}

// allot assigns a NIC an address of its network. It is derived from the NIC's path, so that others keep theirs when NICs are
// added or removed.
func (d *identities) allot(nic *NIC, on *subnet, where []string, at *path) {
	if on.full {
		return
	}
	on.full = !probe(d.start("cidr", on.size, where), on.size, func(n uint64) bool {
		address := on.address(n)
		number, derivable := derivedNumber(address)
		if derivable && d.pool[number] || !take(d.ips, address.String()) {
			return false
		}
		if derivable {
			d.pool[number] = true
		}
		on.got[at]++
		nic.Addresses = []string{netip.PrefixFrom(address, on.prefix.Bits()).String()}
		return true
	})
	if on.full {
		others := ""
		if n := int(on.size) - on.got[at]; n > 0 {
			others = fmt.Sprintf(" others have %d of them,", n)
		}
		d.field(at, "", "addresses of network %s are used up: %s has %d,%s and %d are needed here",
			strict.Shown(on.network), on.prefix, on.size, others, on.needs[at])
	}
}

// uuid derives a missing UUID, skipping those in use.
func (d *identities) uuid(value *string, taken map[string]*path, kind string, where ...string) {
	for *value == "" {
		if derived := d.top.UUID(kind, where...); take(taken, derived) {
			*value = derived
		}
		kind += "'"
	}
}

// start returns where to begin the search for a free number in a range.
func (d *identities) start(kind string, size uint64, where []string) uint64 {
	sum := d.top.digest(kind, where...)
	return binary.BigEndian.Uint64(sum[:8]) % size
}

// take claims a derived identity if it is free.
func take(taken map[string]*path, value string) bool {
	if _, is := taken[value]; is {
		return false
	}
	taken[value] = nil
	return true
}
