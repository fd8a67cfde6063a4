package guest

import (
	"cmp"
	"maps"
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Info is what a guest reports while it is up.
type Info struct {
	HostName string
	// FullName is the operating system ("Ubuntu Linux (64-bit)").
	FullName string
	// Addresses maps lower-case MAC addresses to addresses.
	Addresses map[string][]netip.Prefix
	// NoTools is set for a guest without VMware Tools: it reports nothing and cannot be asked.
	NoTools bool
	// Static is set if the guest configures its addresses: a DHCP server does not change them.
	Static bool
}

// installed reports whether a guest exists: a VM of an API client has an empty disk.
func (i Info) installed() bool { return !i.NoTools && (i.HostName != "" || len(i.Addresses) > 0) }

// remember merges what the guest of vm reports now into known: clients write guest properties (customization, extraConfig
// SET.guest.…) and expect them after a power cycle.
func remember(known Info, vm *mo.VirtualMachine) Info {
	g := vm.Guest
	if g == nil || (g.HostName == "" && g.IpAddress == "") {
		return known
	}
	now := Info{HostName: g.HostName, FullName: g.GuestFullName, Addresses: map[string][]netip.Prefix{}, Static: known.Static}
	for _, nic := range g.Net {
		if a := addresses(nic); len(a) > 0 {
			now.Addresses[strings.ToLower(nic.MacAddress)] = a
		}
	}
	if primary, err := netip.ParseAddr(g.IpAddress); err == nil && len(now.Addresses) == 0 {
		for _, d := range vm.Config.Hardware.Device {
			if card, ok := d.(types.BaseVirtualEthernetCard); ok {
				mac := strings.ToLower(card.GetVirtualEthernetCard().MacAddress)
				now.Addresses[mac] = []netip.Prefix{netip.PrefixFrom(primary, defaultBits(primary))}
				break
			}
		}
	}
	now.FullName = cmp.Or(now.FullName, known.FullName)
	return now
}

func addresses(nic types.GuestNicInfo) []netip.Prefix {
	bits := make(map[string]int32)
	if nic.IpConfig != nil {
		for _, a := range nic.IpConfig.IpAddress {
			bits[a.IpAddress] = a.PrefixLength
		}
	}
	var all []netip.Prefix
	for _, text := range nic.IpAddress {
		a, err := netip.ParseAddr(text)
		if err != nil {
			continue
		}
		n, ok := bits[text]
		if !ok {
			n = int32(defaultBits(a))
		}
		all = append(all, netip.PrefixFrom(a, int(n)))
	}
	return all
}

// defaultBits returns the prefix length for an address without one.
func defaultBits(a netip.Addr) int {
	if a.Is4() {
		return 24
	}
	return 64
}

// Values of the heartbeat, and of open-vm-tools in a current distribution.
const (
	toolsVersion = "12416"
	toolsType    = string(types.VirtualMachineToolsInstallTypeGuestToolsTypeOpenVMTools)
)

// tools returns the properties of a guest whose tools run.
func (i Info) tools(vm *mo.VirtualMachine) []types.PropertyChange {
	return []types.PropertyChange{
		vc.P("guest.guestFullName", i.FullName),
		vc.P("guest.guestId", vm.Config.GuestId),
		vc.P("guest.guestState", string(types.VirtualMachineGuestStateRunning)),
		vc.P("guest.guestOperationsReady", true),
		vc.P("guest.toolsStatus", types.VirtualMachineToolsStatusToolsOk),
		vc.P("guest.toolsRunningStatus", string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)),
		vc.P("guest.toolsVersionStatus2", string(types.VirtualMachineToolsVersionStatusGuestToolsUnmanaged)),
		vc.P("guest.toolsVersion", toolsVersion),
		vc.P("guest.toolsInstallType", toolsType),
		vc.P("summary.guest.guestFullName", i.FullName),
		vc.P("summary.guest.guestId", vm.Config.GuestId),
		vc.P("summary.guest.toolsStatus", types.VirtualMachineToolsStatusToolsOk),
		vc.P("summary.guest.toolsRunningStatus", string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)),
		vc.P("summary.guest.toolsVersionStatus2", string(types.VirtualMachineToolsVersionStatusGuestToolsUnmanaged)),
		vc.P("guestHeartbeatStatus", types.ManagedEntityStatusGreen),
		vc.P("summary.quickStats.guestHeartbeatStatus", types.ManagedEntityStatusGreen),
	}
}

// down returns the properties of a guest that does not run. The identity of the operating system stays, as in vCenter, where it
// comes from the configuration.
func down() []types.PropertyChange {
	return []types.PropertyChange{
		vc.P("guest.hostName", nil),
		vc.P("guest.ipAddress", nil),
		vc.P("guest.net", nil),
		vc.P("guest.ipStack", nil),
		vc.P("guest.guestState", string(types.VirtualMachineGuestStateNotRunning)),
		vc.P("guest.guestOperationsReady", false),
		vc.P("guest.toolsStatus", types.VirtualMachineToolsStatusToolsNotRunning),
		vc.P("guest.toolsRunningStatus", string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)),
		vc.P("summary.guest.hostName", nil),
		vc.P("summary.guest.ipAddress", nil),
		vc.P("summary.guest.toolsStatus", types.VirtualMachineToolsStatusToolsNotRunning),
		vc.P("summary.guest.toolsRunningStatus", string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)),
		vc.P("guestHeartbeatStatus", types.ManagedEntityStatusGray),
		vc.P("summary.quickStats.guestHeartbeatStatus", types.ManagedEntityStatusGray),
	}
}

// nics returns guest.net for the VM's current NICs, with the guest's addresses.
func (i Info) nics(ctx *simulator.Context, vm *mo.VirtualMachine) []types.GuestNicInfo {
	var nics []types.GuestNicInfo
	for _, d := range vm.Config.Hardware.Device {
		card, ok := d.(types.BaseVirtualEthernetCard)
		if !ok {
			continue
		}
		c := card.GetVirtualEthernetCard()
		nic := types.GuestNicInfo{
			Network:        network(ctx, c.Backing),
			MacAddress:     c.MacAddress,
			Connected:      true,
			DeviceConfigId: c.Key,
		}
		if p := i.Addresses[strings.ToLower(c.MacAddress)]; len(p) > 0 {
			nic.IpConfig = new(types.NetIpConfigInfo)
			for _, a := range p {
				nic.IpAddress = append(nic.IpAddress, a.Addr().String())
				nic.IpConfig.IpAddress = append(nic.IpConfig.IpAddress, types.NetIpConfigInfoIpAddress{
					IpAddress:    a.Addr().String(),
					PrefixLength: int32(a.Bits()),
					State:        string(types.NetIpConfigInfoIpAddressStatusPreferred),
				})
			}
		}
		nics = append(nics, nic)
	}
	return nics
}

// network returns the name of a NIC's network. vcsim leaves it empty for distributed port groups, which breaks clients that
// choose addresses by network name.
func network(ctx *simulator.Context, backing types.BaseVirtualDeviceBackingInfo) string {
	switch b := backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		return b.DeviceName
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		ref := vc.Ref{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey}
		if pg, ok := ctx.Map.Get(ref).(*simulator.DistributedVirtualPortgroup); ok {
			return pg.Name
		}
	}
	return ""
}

// Report is what VMware Tools report about a running guest. Code that changes a report must copy its lists.
type Report struct {
	// Tools reports whether the tools run; otherwise nothing else is reported.
	Tools    bool
	HostName string
	// Address is the one that the vSphere Client shows (guest.ipAddress).
	Address string
	// NICs are guest.net.
	NICs []types.GuestNicInfo
}

// Primary returns the address that tools choose: the first IPv4 address, else the first one.
func (r Report) Primary() string {
	primary := ""
	for _, nic := range r.NICs {
		for _, a := range nic.IpAddress {
			if p, err := netip.ParseAddr(a); err == nil && (primary == "" || (p.Is4() && strings.Contains(primary, ":"))) {
				primary = a
			}
		}
	}
	return primary
}

// report returns the guest's report without overrides.
func (i Info) report(ctx *simulator.Context, vm *mo.VirtualMachine) Report {
	r := Report{Tools: true, HostName: i.HostName, NICs: i.nics(ctx, vm)}
	r.Address = r.Primary()
	return r
}

// changes returns the properties of a report, one property for each leaf, because vcsim's watchers match changes by exact name.
func (r Report) changes(i Info, vm *mo.VirtualMachine) []types.PropertyChange {
	if !r.Tools {
		return down()
	}
	var net any
	if len(r.NICs) > 0 {
		net = r.NICs
	}
	return append([]types.PropertyChange{
		vc.P("guest.hostName", r.HostName),
		vc.P("guest.ipAddress", r.Address),
		vc.P("guest.net", net),
		vc.P("summary.guest.hostName", r.HostName),
		vc.P("summary.guest.ipAddress", r.Address),
	}, i.tools(vm)...)
}

// rewired makes a running guest report changed NICs: a NIC on another network keeps its addresses, which vcsim drops. The caller
// holds the VM's lock.
func (g *Guests) rewired(ctx *simulator.Context, m *vmState, vm *mo.VirtualMachine) {
	if !m.up || g.stock() || !m.info.installed() || vm.Guest == nil || (vm.Guest.HostName == "" && len(m.overrides) == 0) {
		return
	}
	if len(m.overrides) > 0 {
		if m.reporting {
			ctx.Update(vm, m.reports(ctx, vm).changes(m.info, vm))
		}
		return
	}
	// The current report takes precedence: clients may have changed it.
	now := Info{Addresses: make(map[string][]netip.Prefix)}
	maps.Copy(now.Addresses, m.info.Addresses)
	for _, nic := range vm.Guest.Net {
		if list := addresses(nic); len(list) > 0 {
			now.Addresses[strings.ToLower(nic.MacAddress)] = list
		}
	}
	var net any
	if nics := now.nics(ctx, vm); len(nics) > 0 {
		net = nics
	}
	ctx.Update(vm, []types.PropertyChange{vc.P("guest.net", net)})
}

// Causing is [Guests.CausingRef] for all VMs with that name, including those that get it later.
func (g *Guests) Causing(vm string, seq uint64) (release func()) {
	g.mu.Lock()
	g.named[vm] = seq
	var refs []vc.Ref
	for ref, name := range g.names {
		if name == vm {
			refs = append(refs, ref)
		}
	}
	g.mu.Unlock()
	releases := make([]func(), len(refs))
	for i, ref := range refs {
		releases[i] = g.CausingRef(ref, seq)
	}
	return func() {
		for _, release := range releases {
			release()
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.named[vm] == seq {
			delete(g.named, vm)
		}
	}
}

// CausingRef makes seq the cause of what happens to the VM until release is called. The latest call counts.
func (g *Guests) CausingRef(vm types.ManagedObjectReference, seq uint64) (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.causes[vm] = seq
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.causes[vm] == seq {
			delete(g.causes, vm)
		}
	}
}

// Cause returns the event of [Guests.Causing] or [Guests.CausingRef] for the VM, or 0. It takes no lock of vcsim.
func (g *Guests) Cause(vm types.ManagedObjectReference) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if seq := g.causes[vm]; seq != 0 {
		return seq
	}
	return g.named[g.names[vm]]
}

// log appends an event about the VM and returns its number.
func (g *Guests) log(m *vmState, level event.Level, kind string, cause uint64, message string) uint64 {
	if g.opts.Events == nil {
		return 0
	}
	if cause == 0 {
		g.mu.Lock()
		if cause = g.causes[m.ref]; cause == 0 {
			cause = g.named[m.name]
		}
		g.mu.Unlock()
	}
	return g.opts.Events.Append(event.Event{
		Plane:   event.PlaneVSphere,
		Level:   level,
		Kind:    kind,
		Object:  event.Object{Kind: "VM", VCenter: g.opts.VCenter, Name: m.name},
		Message: message,
		Cause:   cause,
	})
}
