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

// Hooks for the rules of the gate.

const restSessionHeader = "vmware-api-session-id"

// gateHooks adds the simulator's hooks to the options of a gate.
func (v *VCenter) gateHooks(o gate.Options) gate.Options {
	o.Identify, o.Name, o.FailTask, o.DropSession = v.identify, v.nameOf, v.failTask, v.dropSession
	return o
}

// identify returns the session of a call. Ended sessions do not count: clients send old cookies when they log in again.
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

// nameOf returns the name of an object from the index, without a lock: a task may hold the object's lock for its whole duration.
func (v *VCenter) nameOf(ref types.ManagedObjectReference) string {
	return v.truth.Name(ref)
}

func (v *VCenter) dropSession(key string) { v.service.access.EndSession(key) }

// failTask creates a task that waits and then fails. Like a task of an extension, it locks nothing and no other work waits for
// it.
func (v *VCenter) failTask(method string, this types.ManagedObjectReference, after time.Duration, fault types.LocalizedMethodFault) (types.ManagedObjectReference, error) {
	ctx := vc.Fresh(v.service.ctx)
	t := simulator.CreateTask(this, method, nil)
	t.Info.Name = method
	t.Info.DescriptionId = this.Type + "." + description(method)
	t.Info.EntityName = cmp.Or(v.nameOf(this), this.Value)
	if _, entity := ctx.Map.Get(this).(mo.Entity); !entity { // such as CNS's manager, which vim25 does not have
		root := vim25.ServiceInstance
		t.Info.Entity, t.Info.EntityName = &root, ""
	}
	t.Info.StartTime, t.Info.State = new(time.Now()), types.TaskInfoStateRunning
	fault.LocalizedMessage = cmp.Or(fault.LocalizedMessage, fmt.Sprintf("%T", fault.Fault)) // pkg/sim/truth adds a message
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

// description returns the method in the ID of a task's description ("powerOnVM" of PowerOnVM_Task).
func description(method string) string {
	r := []rune(strings.TrimSuffix(method, "_Task"))
	if len(r) > 0 {
		r[0] = unicode.ToLower(r[0])
	}
	return string(r)
}
