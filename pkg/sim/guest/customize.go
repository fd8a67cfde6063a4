package guest

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// CustomizeVMTask reads what cloud-init sets in a guest at the next power-on: its hostname and all its addresses, with their
// prefix lengths, by MAC address. vcsim, which keeps the rest of a customization, only knows the addresses of NICs that a guest
// has reported before, in the order of their names and without lengths.
func (g *Guests) CustomizeVMTask(ctx *simulator.Context, req *types.CustomizeVM_Task) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.CustomizeVM_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	task := simulator.CreateTask(vm, "customizeVm", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		listNICs(&vm.VirtualMachine)
		body, ok := vm.CustomizeVMTask(ctx, req).(*methods.CustomizeVM_TaskBody)
		if !ok || body.Res == nil {
			return nil, new(types.InvalidRequest)
		}
		if _, fault := vc.Await(ctx, body.Res.Returnval); fault != nil {
			return nil, fault
		}
		if m := g.find(vm.Self); m != nil {
			m.next = cloudInit(req.Spec.Identity)
		}
		return nil, nil
	})
	return &methods.CustomizeVM_TaskBody{Res: &types.CustomizeVM_TaskResponse{Returnval: task.Run(ctx)}}
}

// listNICs lists the NICs of a VM in its guest information. vcsim counts them there, now and at the next power-on, to compare them
// with the specification; the guest of a VM that is off has reported none. The caller holds the VM's lock.
func listNICs(vm *mo.VirtualMachine) {
	if vm.Guest == nil || len(vm.Guest.Net) > 0 || vm.Config == nil || vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
		return
	}
	for _, d := range vm.Config.Hardware.Device {
		if nic, ok := d.(types.BaseVirtualEthernetCard); ok {
			card := nic.GetVirtualEthernetCard()
			vm.Guest.Net = append(vm.Guest.Net, types.GuestNicInfo{MacAddress: strings.ToLower(card.MacAddress), DeviceConfigId: card.Key})
		}
	}
}

// customized applies the pending customization to a guest that is powered on. The caller holds the VM's lock.
func (g *Guests) customized(m *vmState, vm *mo.VirtualMachine) {
	next := m.next
	if next == nil || g.stock() {
		return
	}
	m.next = nil
	next.NoTools, next.Static = m.info.NoTools, true
	if next.FullName = m.info.FullName; next.FullName == "" {
		next.FullName = vm.Config.GuestFullName
	}
	next.HostName = cmp.Or(next.HostName, m.info.HostName)
	g.know(m, *next)
}

// cloudInit parses cloud-init's metadata with a network configuration of version 2. Without one, vcsim does everything.
func cloudInit(identity types.BaseCustomizationIdentitySettings) *Info {
	prep, ok := identity.(*types.CustomizationCloudinitPrep)
	if !ok {
		return nil
	}
	info, err := parseMetadata(prep.Metadata)
	if err != nil || len(info.Addresses) == 0 {
		return nil
	}
	return info
}

// parseMetadata reads the hostname and the addresses in cloud-init's metadata.
func parseMetadata(text string) (*Info, error) {
	var metadata struct {
		Hostname      string `yaml:"hostname"`
		LocalHostname string `yaml:"local-hostname"`
		Network       struct {
			Ethernets map[string]struct {
				Match struct {
					MAC string `yaml:"macaddress"`
				} `yaml:"match"`
				Addresses []string `yaml:"addresses"`
			} `yaml:"ethernets"`
		} `yaml:"network"`
	}
	if err := yaml.Unmarshal([]byte(text), &metadata); err != nil {
		return nil, err
	}
	info := &Info{HostName: metadata.LocalHostname, Addresses: make(map[string][]netip.Prefix)}
	info.HostName = cmp.Or(info.HostName, metadata.Hostname)
	for _, nic := range metadata.Network.Ethernets {
		mac := strings.ToLower(nic.Match.MAC)
		for _, text := range nic.Addresses {
			if p, err := netip.ParsePrefix(text); err == nil && mac != "" {
				info.Addresses[mac] = append(info.Addresses[mac], p)
			}
		}
	}
	return info, nil
}

// Renew gives the guest of the VM other addresses of the same networks, as a DHCP server may after a lease has expired, and
// reports whether it did. Guests that are down or have static addresses keep theirs, and so does an address in a full network. No
// other VM in the vCenter has the new ones.
func (g *Guests) Renew(vm types.ManagedObjectReference) bool {
	m := g.find(vm)
	obj, ok := g.base.Map.Get(vm).(*simulator.VirtualMachine)
	if m == nil || !ok {
		return false
	}
	changed := false
	ctx := vc.Fresh(g.base)
	ctx.WithLock(obj, func() {
		if !m.up || m.info.Static || m.info.NoTools || g.stock() || !visible(&obj.VirtualMachine) || obj.Guest == nil || obj.Guest.IpAddress == "" {
			return
		}
		g.learn(m, &obj.VirtualMachine)
		was := obj.Guest.IpAddress
		next := m.info
		next.Addresses, changed = g.others(m)
		if !changed {
			return
		}
		g.know(m, next)
		ctx.Update(obj, m.reports(ctx, &obj.VirtualMachine).changes(next, &obj.VirtualMachine))
		g.log(m, event.Warning, "guest.readdressed", 0, fmt.Sprintf("lease ended: address %s is now %s", was, obj.Guest.IpAddress))
	})
	return changed
}

// others chooses a free address for each address of the guest.
func (g *Guests) others(m *vmState) (map[string][]netip.Prefix, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	changed := false
	all := make(map[string][]netip.Prefix, len(m.info.Addresses))
	chosen := make(map[netip.Addr]bool)
	for mac, list := range m.info.Addresses {
		for _, p := range list {
			next := following(p, func(a netip.Addr) bool {
				_, owned := g.owners[a]
				return !owned && !chosen[a]
			})
			changed = changed || next != p
			chosen[next.Addr()] = true
			all[mac] = append(all[mac], next)
		}
	}
	return all, changed
}

// farthest limits the addresses that are tried for one.
const farthest = 1 << 16

// following returns the next free address in the prefix's network, wrapping around, or p. It skips the network's address, the one
// after it (the gateway) and the last one.
func following(p netip.Prefix, free func(netip.Addr) bool) netip.Prefix {
	first := p.Masked().Addr().Next().Next()
	for a, n := p.Addr().Next(), 0; n < farthest; a, n = a.Next(), n+1 {
		if !a.IsValid() || !p.Contains(a) || !p.Contains(a.Next()) {
			a = first
		}
		if a == p.Addr() || !p.Contains(a) || !p.Contains(a.Next()) {
			return p
		}
		if a.Compare(first) >= 0 && free(a) {
			return netip.PrefixFrom(a, p.Bits())
		}
	}
	return p
}
