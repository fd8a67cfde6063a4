package property

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// PropertyCollector is the managed object that clients call. It carries no
// state: a session may end up with two of them for one reference, because
// vcsim copies the singleton without a lock. The state is the collector that
// the Service keeps for the session and the reference.
//
// The name matters: vcsim derives the type of the reference from it. It embeds
// vcsim's collector for calls without a session. Create it with [Install] only.
type PropertyCollector struct { //nolint:revive // see above
	simulator.PropertyCollector

	// service is set in the singleton of a registry only.
	service *Service
}

// state finds the collector behind the object for the session of a call. It is
// nil when there is no session, or when the vCenter called is not one of ours.
func (pc *PropertyCollector) state(ctx *simulator.Context) *collector {
	if ctx.Session == nil || ctx.Session.Registry == nil {
		return nil
	}
	content, ok := contentOf(ctx.Map)
	if !ok {
		return nil
	}
	singleton, ok := ctx.Map.Get(content.PropertyCollector).(*PropertyCollector)
	if !ok || singleton.service == nil {
		return nil
	}
	return singleton.service.collector(ctx, pc.Self)
}

// managedObject is the collector as a client reads it, with its filters.
func (pc *PropertyCollector) managedObject(ctx *simulator.Context) mo.Reference {
	shown := &mo.PropertyCollector{Self: pc.Self}
	if c := pc.state(ctx); c != nil {
		shown.Filter = c.filterRefs()
	}
	return shown
}

// CreatePropertyCollector adds a collector to the session.
func (pc *PropertyCollector) CreatePropertyCollector(ctx *simulator.Context, r *types.CreatePropertyCollector) soap.HasFault {
	if pc.state(ctx) == nil {
		return pc.PropertyCollector.CreatePropertyCollector(ctx, r)
	}
	created := ctx.Session.Put(new(PropertyCollector))
	return &methods.CreatePropertyCollectorBody{
		Res: &types.CreatePropertyCollectorResponse{Returnval: created.Reference()},
	}
}

// DestroyPropertyCollector removes a collector with its filters. A wait on it
// ends with RequestCanceled. The default collector is emptied and can be used
// again.
func (pc *PropertyCollector) DestroyPropertyCollector(ctx *simulator.Context, r *types.DestroyPropertyCollector) soap.HasFault {
	c := pc.state(ctx)
	if c == nil {
		return pc.PropertyCollector.DestroyPropertyCollector(ctx, r)
	}
	for _, ref := range c.filterRefs() {
		ctx.Session.Remove(ctx, ref)
	}
	c.service.drop(c, new(types.RequestCanceled))
	ctx.Session.Remove(ctx, r.This)
	return &methods.DestroyPropertyCollectorBody{Res: new(types.DestroyPropertyCollectorResponse)}
}

// CreateFilter adds a filter. A wait in progress delivers its objects at once.
// A selection that refers to an undefined name is refused here, as by vCenter,
// and so is one that starts from an object that does not exist or may not be
// seen.
func (pc *PropertyCollector) CreateFilter(ctx *simulator.Context, r *types.CreateFilter) soap.HasFault {
	c := pc.state(ctx)
	if c == nil {
		return pc.PropertyCollector.CreateFilter(ctx, r)
	}
	body := new(methods.CreateFilterBody)
	sel, fault := compile([]types.PropertyFilterSpec{r.Spec})
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	if fault := c.service.startable(ctx, sel, r.Spec); fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	object := &PropertyFilter{collector: c}
	object.Spec, object.PartialUpdates = r.Spec, r.PartialUpdates
	ref := ctx.Session.Put(object).Reference()
	c.addFilter(newFilter(c, ref, r.Spec, r.PartialUpdates, sel))

	body.Res = &types.CreateFilterResponse{Returnval: ref}
	return body
}

// CancelWaitForUpdates ends the wait in progress, if there is one.
func (pc *PropertyCollector) CancelWaitForUpdates(ctx *simulator.Context, r *types.CancelWaitForUpdates) soap.HasFault {
	c := pc.state(ctx)
	if c == nil {
		return pc.PropertyCollector.CancelWaitForUpdates(r)
	}
	c.cancelWait(new(types.RequestCanceled))
	return &methods.CancelWaitForUpdatesBody{Res: new(types.CancelWaitForUpdatesResponse)}
}
