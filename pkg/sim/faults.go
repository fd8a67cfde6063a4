package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// What the rules of the gate need to know of the vCenter behind it.

const restSessionHeader = "vmware-api-session-id"

// gateHooks fills in the options of a gate that only a simulator can.
func (v *VCenter) gateHooks(o gate.Options) gate.Options {
	o.Identify, o.Name, o.FailTask, o.DropSession = v.identify, v.nameOf, v.failTask, v.dropSession
	return o
}

// identify tells whose call it is. Sessions that are over are none: clients show their cookies when they log in again.
func (v *VCenter) identify(r *http.Request) (session, user string) {
	secret, name := "", soap.SessionCookieName
	if strings.HasPrefix(r.URL.Path, "/rest/") || strings.HasPrefix(r.URL.Path, "/api/") {
		secret, name = r.Header.Get(restSessionHeader), restSessionHeader
	}
	if secret == "" {
		c, err := r.Cookie(name)
		if err != nil {
			return "", ""
		}
		secret = c.Value
	}
	session, user, _ = v.service.access.Identify(secret, r.UserAgent())
	return session, user
}

// nameOf reads the name of an object. It takes no lock, which the object's holder may keep for as long as a task takes:
// a name that is being changed is read as the old one or the new one from the index of names.
func (v *VCenter) nameOf(ref types.ManagedObjectReference) string {
	return v.truth.Name(ref)
}

func (v *VCenter) dropSession(key string) { v.service.access.EndSession(key) }

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
