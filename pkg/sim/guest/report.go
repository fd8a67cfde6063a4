package guest

import (
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Report is what VMware Tools tell of a guest that is up. Who changes a report makes lists of their own.
type Report struct {
	// Tools tells whether they run; nothing else is told when they do not.
	Tools    bool
	HostName string
	// Address is the one that the vSphere Client shows (guest.ipAddress).
	Address string
	// NICs are guest.net.
	NICs []types.GuestNicInfo
}

// Primary is the address that tools choose among those of the NICs: the first IPv4 address, else the first.
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

// report is what a guest tells of itself if nobody interferes.
func (i Info) report(ctx *simulator.Context, vm *mo.VirtualMachine) Report {
	r := Report{Tools: true, HostName: i.HostName, NICs: i.nics(ctx, vm)}
	r.Address = r.Primary()
	return r
}

// changes lists the properties of a guest that reports: one property for each leaf, because vcsim's watchers match changes
// by exact name.
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
