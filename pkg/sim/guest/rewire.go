package guest

import (
	"maps"
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// rewired lets a guest that is up report its cards anew when they change: one that is put on another network keeps its
// addresses, which vcsim forgets. The VM's lock is held.
func (g *Guests) rewired(ctx *simulator.Context, m *machine, vm *mo.VirtualMachine) {
	if !m.up || g.stock() || !m.info.installed() || vm.Guest == nil || (vm.Guest.HostName == "" && len(m.overrides) == 0) {
		return
	}
	if len(m.overrides) > 0 {
		if m.told {
			ctx.Update(vm, m.reports(ctx, vm).changes(m.info, vm))
		}
		return
	}
	// What it reports now counts first: clients may have changed that.
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
