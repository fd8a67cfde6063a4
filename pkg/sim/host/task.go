package host

import (
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// task runs f as a task on the host, whose lock is not held, so that VMs can leave it and clients can read it.
func (h *Hosts) task(ctx *simulator.Context, ref vc.Ref, method, id string, f func(*simulator.HostSystem, *simulator.Task) types.BaseMethodFault) vc.Ref {
	if host, ok := ctx.Map.Get(ref).(*simulator.HostSystem); ok {
		ctx.WithLock(host, func() { h.adopt(host) })
	}
	t := simulator.CreateTask(ref, id, func(t *simulator.Task) (types.AnyType, types.BaseMethodFault) {
		host, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
		if !ok {
			return nil, &types.ManagedObjectNotFound{Obj: ref}
		}
		if !h.begin() {
			return nil, new(types.RequestCanceled)
		}
		defer h.work.Done()
		return nil, f(host, t)
	})
	t.Info.Name = strings.TrimSuffix(method, "_Task") + "_Task"
	t.Info.Cancelable = cancelable[id]
	return vc.Run(ctx, t)
}

// cancelable are the tasks that wait for VMs to leave.
var cancelable = map[string]bool{"enterMaintenanceMode": true, "powerDownToStandBy": true}

// canceled reports whether a client canceled the task.
func canceled(ctx *simulator.Context, t *simulator.Task) (yes bool) {
	ctx.WithLock(t, func() { yes = t.Info.Cancelled })
	return yes
}
