package store

import (
	"encoding/base64"
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
)

// guestOf is what a VM's guest reports when it is up: what it reported when it was saved, or what cloud-init would make of
// its variables. false means that it has no tools, or is a template.
func guestOf(vm *mo.VirtualMachine) (guest.Info, bool) {
	g := vm.Guest
	if vm.Config.Template || g == nil {
		return guest.Info{}, false
	}
	info := guest.Info{HostName: g.HostName, FullName: g.GuestFullName, Addresses: make(map[string][]netip.Prefix)}
	for _, nic := range g.Net {
		if all := addresses(nic); len(all) > 0 {
			info.Addresses[strings.ToLower(nic.MacAddress)] = all
		}
	}
	if a, err := netip.ParseAddr(g.IpAddress); err == nil && len(info.Addresses) == 0 {
		if mac := firstCard(vm); mac != "" {
			info.Addresses[mac] = []netip.Prefix{netip.PrefixFrom(a, bitsOf(a))}
		}
	}
	variables(vm, &info)
	if info.FullName == "" {
		info.FullName = vm.Config.GuestFullName
	}
	tools := g.ToolsStatus != "" && g.ToolsStatus != types.VirtualMachineToolsStatusToolsNotInstalled
	if info.HostName == "" && len(info.Addresses) == 0 && !tools {
		return guest.Info{}, false
	}
	if info.HostName == "" {
		info.HostName = label(vm.Name)
	}
	return info, true
}

func addresses(nic types.GuestNicInfo) []netip.Prefix {
	var all []netip.Prefix
	add := func(text string, bits int) {
		if a, err := netip.ParseAddr(text); err == nil {
			if bits < 0 || bits > a.BitLen() {
				bits = bitsOf(a)
			}
			all = append(all, netip.PrefixFrom(a, bits))
		}
	}
	if nic.IpConfig != nil {
		for _, a := range nic.IpConfig.IpAddress {
			add(a.IpAddress, int(a.PrefixLength))
		}
	}
	if len(all) == 0 {
		for _, text := range nic.IpAddress {
			add(text, -1)
		}
	}
	return all
}

// bitsOf is the usual length of the prefix of an address.
func bitsOf(a netip.Addr) int {
	if a.Is4() {
		return 24
	}
	return 64
}

func firstCard(vm *mo.VirtualMachine) string {
	for _, d := range vm.Config.Hardware.Device {
		if card, ok := d.(types.BaseVirtualEthernetCard); ok {
			return strings.ToLower(card.GetVirtualEthernetCard().MacAddress)
		}
	}
	return ""
}

// cloudConfig is what is read of guestinfo.metadata: name, and addresses in version 1 of cloud-init's network format.
type cloudConfig struct {
	Hostname string `yaml:"local-hostname"`
	Network  struct {
		Config []struct {
			MAC     string `yaml:"mac_address"`
			Subnets []struct {
				Address string `yaml:"address"`
			} `yaml:"subnets"`
		} `yaml:"config"`
	} `yaml:"network"`
}

// variables reads what the guest's own variables say of it. What it reported goes before.
func variables(vm *mo.VirtualMachine, info *guest.Info) {
	var text string
	for _, o := range vm.Config.ExtraConfig {
		if o == nil || o.GetOptionValue().Key != "guestinfo.metadata" {
			continue
		}
		text, _ = o.GetOptionValue().Value.(string)
	}
	if b, err := base64.StdEncoding.DecodeString(text); err == nil {
		text = string(b)
	}
	var c cloudConfig
	if text == "" || yaml.Unmarshal([]byte(text), &c) != nil {
		return // in some other form
	}
	if info.HostName == "" {
		info.HostName = c.Hostname
	}
	for _, card := range c.Network.Config {
		mac := strings.ToLower(card.MAC)
		for _, s := range card.Subnets {
			p, err := netip.ParsePrefix(s.Address)
			if err != nil {
				continue
			}
			info.Static = true
			if len(vm.Guest.Net) == 0 {
				info.Addresses[mac] = append(info.Addresses[mac], p)
			}
		}
	}
}
