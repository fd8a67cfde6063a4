package host

import (
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// task runs f as a task on the host. vcsim holds the lock of a task's object until it ends; this one lets go of it for the
// time of f, because a host whose lock is held can neither be left by VMs nor be read.
func (h *Hosts) task(ctx *simulator.Context, ref vc.Ref, method, id string, f func(*simulator.HostSystem, *simulator.Task) types.BaseMethodFault) vc.Ref {
	t := simulator.CreateTask(ref, id, func(t *simulator.Task) (types.AnyType, types.BaseMethodFault) {
		release := ctx.Map.AcquireLock(ctx, ref) // the second time: Run has done it before
		h.adopt(ctx.Map.Get(ref))
		release()
		release()
		defer h.lockAgain(ctx, ref)
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
	return t.Run(ctx)
}

// lockAgain takes the lock that vcsim releases at the end of the task.
func (h *Hosts) lockAgain(ctx *simulator.Context, ref vc.Ref) { _ = ctx.Map.AcquireLock(ctx, ref) }

// canceled tells whether a client canceled the task.
func canceled(ctx *simulator.Context, t *simulator.Task) (yes bool) {
	ctx.WithLock(t, func() { yes = t.Info.Cancelled })
	return yes
}
