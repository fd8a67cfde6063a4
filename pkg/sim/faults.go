package sim

import (
	"net/http"
	"reflect"
	"time"

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

// identify tells whose call it is.
func (v *VCenter) identify(r *http.Request) (session, user string) {
	session = r.Header.Get(restSessionHeader)
	for _, name := range []string{soap.SessionCookieName, restSessionHeader} {
		if c, err := r.Cookie(name); session == "" && err == nil {
			session = c.Value
		}
	}
	if session == "" {
		return "", ""
	}
	user, _ = v.service.access.UserOf(session)
	return session, user
}

// nameOf reads the name of an object. It takes no lock, which the object's holder may keep for as long as a task takes:
// a name that is being changed is read as the old one or the new one from the index of names.
func (v *VCenter) nameOf(ref types.ManagedObjectReference) string {
	return v.truth.Name(ref)
}

// failTask makes a task that does nothing for a time and then fails.
func (v *VCenter) failTask(method string, this types.ManagedObjectReference, after time.Duration, fault types.BaseMethodFault) (types.ManagedObjectReference, error) {
	ctx := vc.Fresh(v.service.ctx)
	if obj := ctx.Map.Get(this); obj == nil { // the manager of another endpoint, such as CNS
		this = vim25.ServiceInstance
	}
	t := simulator.CreateTask(nobody{this}, method, func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		wait := time.NewTimer(after)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-v.closing:
		}
		return nil, fresh(fault)
	})
	ref := t.Run(ctx)
	ctx.Map.AtomicUpdate(ctx, t, []types.PropertyChange{vc.P("info.entity", this)})
	return ref, nil
}

// nobody stands for the object of a task that is not to be locked while the task goes on.
type nobody struct{ ref types.ManagedObjectReference }

func (n nobody) Reference() types.ManagedObjectReference {
	n.ref.Value += "-failing"
	return n.ref
}

var _ mo.Reference = nobody{}

// fresh copies a fault: each answer is encoded from one of its own.
func fresh(fault types.BaseMethodFault) types.BaseMethodFault {
	v := reflect.ValueOf(fault)
	if v.Kind() != reflect.Pointer {
		return fault
	}
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	return c.Interface().(types.BaseMethodFault)
}

func (v *VCenter) dropSession(key string) { v.service.access.EndSession(key) }
