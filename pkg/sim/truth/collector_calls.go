package truth

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// eventCollector is the type of collectors of events.
const eventCollector = "EventHistoryCollector"

// historyCollector is a history collector of vcsim's.
type historyCollector interface {
	mo.Reference
	DestroyCollector(ctx *simulator.Context, req *types.DestroyCollector) soap.HasFault
	SetCollectorPageSize(ctx *simulator.Context, req *types.SetCollectorPageSize) soap.HasFault
}

// Redirect is that of [redirect.Receiver], and sends on calls on collectors of events too, which belong to sessions. In
// vcsim such a call locks the collector alone, while the event manager, which locks itself, goes through all collectors
// for every event, and makes the history from which a collector is filled: a collector that is destroyed at that moment
// ends the process.
func (c *Corrections) Redirect(ctx *simulator.Context, method *simulator.Method) bool {
	if method.This.Type != eventCollector || !slices.Contains([]string{"DestroyCollector", "SetCollectorPageSize"}, method.Name) {
		return c.Receiver.Redirect(ctx, method)
	}
	if ctx.Session == nil || ctx.Session.Get(method.This) == nil {
		return false // vcsim says what is wrong
	}
	method.This = c.Self
	return true
}

// DestroyCollector destroys a collector of events, with the event manager locked.
func (c *Corrections) DestroyCollector(ctx *simulator.Context, req *types.DestroyCollector) soap.HasFault {
	h, ok := ctx.Session.Get(req.This).(historyCollector)
	if !ok {
		return &methods.DestroyCollectorBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	var body soap.HasFault
	ctx.WithLock(ctx.Map.EventManager(), func() { body = h.DestroyCollector(ctx, req) })
	return body
}

// SetCollectorPageSize fills the page of a collector of events again, with the event manager locked.
func (c *Corrections) SetCollectorPageSize(ctx *simulator.Context, req *types.SetCollectorPageSize) soap.HasFault {
	h, ok := ctx.Session.Get(req.This).(historyCollector)
	if !ok {
		return &methods.SetCollectorPageSizeBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	var body soap.HasFault
	ctx.WithLock(ctx.Map.EventManager(), func() { ctx.WithLock(h, func() { body = h.SetCollectorPageSize(ctx, req) }) })
	return body
}
