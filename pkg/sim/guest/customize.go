package guest

import (
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// CustomizeVMTask takes what cloud-init is to give a guest at the next power-on: its hostname and all its addresses, with
// their prefix lengths, by MAC address. vcsim, which keeps the rest of a customization, knows the addresses of cards that a
// guest has reported before, in the order of their names and without lengths.
func (g *Guests) CustomizeVMTask(ctx *simulator.Context, req *types.CustomizeVM_Task) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.CustomizeVM_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	task := simulator.CreateTask(vm, "customizeVm", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
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

// customized makes a guest that is powered on what it was told to become. The VM's lock is held.
func (g *Guests) customized(m *machine, vm *mo.VirtualMachine) {
	next := m.next
	if next == nil || g.stock() {
		return
	}
	m.next = nil
	next.NoTools, next.Static = m.info.NoTools, true
	if next.FullName = m.info.FullName; next.FullName == "" {
		next.FullName = vm.Config.GuestFullName
	}
	if next.HostName == "" {
		next.HostName = m.info.HostName
	}
	g.know(m, *next)
}

// cloudInit reads cloud-init's metadata, with a network configuration of version 2. Without one there is nothing that
// vcsim does not do.
func cloudInit(identity types.BaseCustomizationIdentitySettings) *Info {
	prep, ok := identity.(*types.CustomizationCloudinitPrep)
	if !ok {
		return nil
	}
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
	if yaml.Unmarshal([]byte(prep.Metadata), &metadata) != nil {
		return nil
	}
	info := &Info{HostName: metadata.LocalHostname, Addresses: make(map[string][]netip.Prefix)}
	if info.HostName == "" {
		info.HostName = metadata.Hostname
	}
	for _, nic := range metadata.Network.Ethernets {
		mac := strings.ToLower(nic.Match.MAC)
		for _, text := range nic.Addresses {
			if p, err := netip.ParsePrefix(text); err == nil && mac != "" {
				info.Addresses[mac] = append(info.Addresses[mac], p)
			}
		}
	}
	if len(info.Addresses) == 0 {
		return nil
	}
	return info
}
