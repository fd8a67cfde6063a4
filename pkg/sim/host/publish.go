package host

import (
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// publish shows the host's condition to the vCenter's clients: on the host, on its VMs, in the sums of its compute
// resource. It may be called by several goroutines at once: what is written is read under the lock it is written under.
func (h *Hosts) publish(ref vc.Ref, cause uint64) {
	ctx := vc.Fresh(h.base)
	host, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
	if !ok {
		return
	}
	ctx.WithLock(host, func() {
		if changes := differences(host, h.of(ref)); len(changes) > 0 {
			ctx.Update(host, changes)
		}
	})
	for _, vm := range vmsOf(ctx, host) {
		h.settle(vm, cause)
	}
	if host.Parent != nil {
		h.sum(*host.Parent)
	}
	h.watcher.shout()
}

// differences lists the properties that do not show the condition yet.
func differences(host *simulator.HostSystem, c condition) []types.PropertyChange {
	var changes []types.PropertyChange
	set := func(name string, value any) {
		changes = append(changes, vc.P(name, value), vc.P("summary."+name, value))
	}
	if s := c.connection(); host.Runtime.ConnectionState != s {
		set("runtime.connectionState", s)
	}
	if p := c.power(); host.Runtime.PowerState != p {
		set("runtime.powerState", p)
	}
	mode := c.mode
	if mode == "" {
		mode = types.HostStandbyModeNone
	}
	if host.Runtime.StandbyMode != string(mode) {
		set("runtime.standbyMode", string(mode))
	}
	if host.Runtime.InMaintenanceMode != c.maintenance {
		set("runtime.inMaintenanceMode", c.maintenance)
	}
	if s := c.status(); host.OverallStatus != s || host.Summary.OverallStatus != s {
		changes = append(changes, vc.P("overallStatus", s), vc.P("summary.overallStatus", s))
	}
	return changes
}

// booted writes the time of a boot.
func (h *Hosts) booted(ref vc.Ref) {
	now := time.Now()
	vc.Set(vc.Fresh(h.base), ref, vc.P("runtime.bootTime", now), vc.P("summary.runtime.bootTime", now))
}

// vmsOf copies the host's list of VMs.
func vmsOf(ctx *simulator.Context, host *simulator.HostSystem) (vms []vc.Ref) {
	ctx.WithLock(host, func() { vms = slices.Clone(host.Vm) })
	return vms
}
