package sim

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// failTask makes a task that does nothing for a time and then fails. It is one of those that have no work to do in vcsim,
// as an extension's own: nothing is locked meanwhile, and nothing waits for it.
func (v *VCenter) failTask(method string, this types.ManagedObjectReference, after time.Duration, fault types.LocalizedMethodFault) (types.ManagedObjectReference, error) {
	ctx := vc.Fresh(v.service.ctx)
	t := simulator.CreateTask(this, method, nil)
	t.Info.Name = method
	t.Info.DescriptionId = this.Type + "." + description(method)
	t.Info.EntityName = cmp.Or(v.nameOf(this), this.Value)
	if _, entity := ctx.Map.Get(this).(mo.Entity); !entity { // such as the manager of CNS, which vim25 does not know
		root := vim25.ServiceInstance
		t.Info.Entity, t.Info.EntityName = &root, ""
	}
	t.Info.StartTime, t.Info.State = new(time.Now()), types.TaskInfoStateRunning
	fault.LocalizedMessage = cmp.Or(fault.LocalizedMessage, fmt.Sprintf("%T", fault.Fault)) // in words by pkg/sim/truth
	ref := ctx.Map.Put(t).Reference()
	ctx.Map.AtomicUpdate(ctx, t, []types.PropertyChange{vc.P("info.key", ref.Value), vc.P("info.task", ref)})
	v.failing.Go(func() {
		wait := time.NewTimer(after)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-v.closing:
			return
		}
		ctx := vc.Fresh(v.service.ctx)
		ctx.WithLock(t, func() {
			if t.Info.State != types.TaskInfoStateRunning {
				return // canceled
			}
			ctx.Update(t, []types.PropertyChange{
				vc.P("info.completeTime", time.Now()), vc.P("info.state", types.TaskInfoStateError), vc.P("info.error", &fault),
			})
		})
	})
	return ref, nil
}

// description is the method in the identifier of a task's description ("powerOnVM" of PowerOnVM_Task).
func description(method string) string {
	r := []rune(strings.TrimSuffix(method, "_Task"))
	if len(r) > 0 {
		r[0] = unicode.ToLower(r[0])
	}
	return string(r)
}
