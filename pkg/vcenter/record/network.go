package record

import (
	"net/netip"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// nics adds a VM's NICs, and their networks to the datacenter.
func (r *recorder) nics(f *found, dc *topology.Datacenter, name string, m mo.VirtualMachine, template bool) []topology.NIC {
	if m.Config == nil {
		return nil
	}
	var nics []topology.NIC
	for _, device := range m.Config.Hardware.Device {
		card, ok := device.(types.BaseVirtualEthernetCard)
		if !ok {
			continue
		}
		ethernet := card.GetVirtualEthernetCard()
		nic := topology.NIC{Network: r.network(f, dc, ethernet.Backing)}
		if nic.Network == "" {
			r.warn("a network card of VM %s is on a network that is not recorded: it is put on the first one", name)
		}
		if r.pseudonyms == nil {
			nic.MAC = ethernet.MacAddress
		}
		if m.Guest != nil && !template {
			for _, reported := range m.Guest.Net {
				if reported.DeviceConfigId == ethernet.Key {
					nic.Addresses = r.addresses(reported)
				}
			}
		}
		nics = append(nics, nic)
	}
	if len(nics) == 0 {
		r.warn("VM %s has no network card: it is recorded with one", name)
	}
	return nics
}

// network returns the name of a NIC's network, which it adds to the datacenter; empty if that is not possible.
func (r *recorder) network(f *found, dc *topology.Datacenter, backing types.BaseVirtualDeviceBackingInfo) string {
	switch b := backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		name := b.DeviceName
		var marks topology.Marks
		if b.Network != nil {
			if o := f.inv.Tree[*b.Network]; o != nil {
				name, marks = o.Name, r.marks(o)
				r.unplaced(f, o.Parent, "networks")
			}
		}
		if name = r.name("network", name); name != "" {
			if !slices.ContainsFunc(dc.Networks, func(n topology.Network) bool { return n.Name == name }) {
				dc.Networks = append(dc.Networks, topology.Network{Name: name, Marks: marks})
			}
		}
		return name
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		group, ok := f.groups[ref{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey}]
		if !ok || group.Config.DistributedVirtualSwitch == nil {
			return ""
		}
		o, of := f.inv.Tree[group.Self], f.inv.Tree[*group.Config.DistributedVirtualSwitch]
		if o == nil || of == nil {
			return ""
		}
		r.unplaced(f, o.Parent, "networks")
		return r.portGroup(dc, r.name("switch", of.Name), topology.PortGroup{
			Network: topology.Network{Name: r.name("network", o.Name), Marks: r.marks(o)}, VLAN: r.vlan(group),
		})
	}
	return ""
}

// portGroup adds a port group to a switch, once.
func (r *recorder) portGroup(dc *topology.Datacenter, on string, group topology.PortGroup) string {
	i := slices.IndexFunc(dc.Switches, func(s topology.Switch) bool { return s.Name == on })
	if i < 0 {
		i = len(dc.Switches)
		dc.Switches = append(dc.Switches, topology.Switch{Name: on})
	}
	groups := &dc.Switches[i].PortGroups
	if !slices.ContainsFunc(*groups, func(g topology.PortGroup) bool { return g.Name == group.Name }) {
		*groups = append(*groups, group)
	}
	return group.Name
}

// vlan returns the ID of the group's VLAN, or its pseudonym.
func (r *recorder) vlan(group mo.DistributedVirtualPortgroup) int32 {
	ports, ok := group.Config.DefaultPortConfig.(*types.VMwareDVSPortSetting)
	if !ok {
		return 0
	}
	spec, ok := ports.Vlan.(*types.VmwareDistributedVirtualSwitchVlanIdSpec)
	if !ok {
		return 0
	}
	if r.pseudonyms == nil {
		return spec.VlanId
	}
	id, err := r.pseudonyms.VLAN(spec.VlanId)
	if err != nil {
		r.warn("a VLAN is not recorded: %v", err)
	}
	return id
}

// addresses returns what the guest reports for a NIC, with prefix lengths if known.
func (r *recorder) addresses(nic types.GuestNicInfo) []string {
	var all []string
	add := func(text string, bits int32) {
		ip, err := netip.ParseAddr(text)
		if err != nil || ip.IsLinkLocalUnicast() || ip.IsLoopback() || ip.IsUnspecified() || ip.IsMulticast() {
			return
		}
		if bits == 0 {
			if bits = 24; ip.Is6() {
				bits = 64
			}
		}
		prefix := netip.PrefixFrom(ip.WithZone(""), int(bits))
		if r.pseudonyms != nil {
			if prefix, err = r.pseudonyms.Address(prefix); err != nil {
				r.warn("an address is not recorded: %v", err)
				return
			}
		}
		if text := prefix.String(); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if nic.IpConfig == nil {
		for _, ip := range nic.IpAddress {
			add(ip, 0)
		}
		return all
	}
	for _, ip := range nic.IpConfig.IpAddress {
		add(ip.IpAddress, ip.PrefixLength)
	}
	return all
}
