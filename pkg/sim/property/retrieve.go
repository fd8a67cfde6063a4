package property

import (
	"reflect"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// maxPages limits the unfinished retrievals of one collector. The oldest is dropped.
const maxPages = 32

// page is the rest of a retrieval.
type page struct {
	token   string
	size    int
	objects []types.ObjectContent
}

// retrieve collects once, for RetrievePropertiesEx. It reads an object with the property specs of all filter specs, as
// govmomi/simulator does (collect).
func (s *Service) retrieve(ctx *simulator.Context, specs []types.PropertyFilterSpec) ([]types.ObjectContent, types.BaseMethodFault) {
	type planKey struct {
		t   reflect.Type
		ref string
	}
	var want []types.PropertySpec
	for i := range specs {
		want = append(want, specs[i].PropSet...)
	}
	specs = s.specificRoots(ctx, specs)
	sel, fault := compile(specs)
	if fault != nil {
		return nil, fault
	}
	got := s.run(ctx, sel)
	if fault := got.fault(specs); fault != nil {
		return nil, fault
	}

	plans := make(map[planKey]*plan)
	var out []types.ObjectContent
	for _, ref := range got.refs {
		readable := s.readable(ctx, ref)
		s.withObject(ctx, ref, func(obj reflect.Value) {
			k := planKey{obj.Type(), ref.Type}
			p, known := plans[k]
			if !known {
				p = s.schema.newPlan(obj.Type(), ref.Type, want)
				plans[k] = p
			}
			if p == nil {
				return
			}
			if !readable {
				out = append(out, types.ObjectContent{Obj: ref, MissingSet: p.denied(ref)})
				return
			}
			c := p.content(s.schema, obj, ref)
			c.PropSet = onlySet(c.PropSet)
			out = append(out, c)
		})
	}
	return out, nil
}

// onlySet drops unset properties: a retrieval omits them, an update reports them.
func onlySet(props []types.DynamicProperty) []types.DynamicProperty {
	kept := props[:0]
	for _, p := range props {
		if p.Val != nil {
			kept = append(kept, p)
		}
	}
	return kept
}

// fault returns the fault for named objects that are invisible or missing, unless their spec allows missing ones.
func (s *selected) fault(specs []types.PropertyFilterSpec) types.BaseMethodFault {
	if len(s.hidden) != 0 {
		return notVisible(s.hidden[0])
	}
	if len(s.missing) == 0 {
		return nil
	}
	gone := make(map[types.ManagedObjectReference]bool, len(s.missing))
	for _, ref := range s.missing {
		gone[ref] = true
	}
	for _, spec := range specs {
		if spec.ReportMissingObjectsInResults != nil && *spec.ReportMissingObjectsInResults {
			continue
		}
		for _, o := range spec.ObjectSet {
			if gone[o.Obj] {
				return &types.ManagedObjectNotFound{Obj: o.Obj}
			}
		}
	}
	return nil
}

// soapFault returns a fault with vCenter's message.
func soapFault(fault types.BaseMethodFault) *soap.Fault {
	message := ""
	if _, ok := fault.(*types.ManagedObjectNotFound); ok {
		message = "The object has already been deleted or has not been completely created"
	}
	return simulator.Fault(message, fault)
}

// RetrievePropertiesEx reads properties of selected objects once, in pages with MaxObjects. vcsim answers a call without a
// session.
func (pc *PropertyCollector) RetrievePropertiesEx(ctx *simulator.Context, r *types.RetrievePropertiesEx) soap.HasFault {
	c := pc.state(ctx)
	if c == nil {
		return pc.PropertyCollector.RetrievePropertiesEx(ctx, r)
	}
	body := new(methods.RetrievePropertiesExBody)
	objects, fault := c.service.retrieve(ctx, r.SpecSet)
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	body.Res = &types.RetrievePropertiesExResponse{Returnval: new(types.RetrieveResult)}
	body.Res.Returnval.Objects, body.Res.Returnval.Token = c.turnPage(objects, int(r.Options.MaxObjects))
	return body
}

// ContinueRetrievePropertiesEx returns the next page. A token is valid once.
func (pc *PropertyCollector) ContinueRetrievePropertiesEx(ctx *simulator.Context, r *types.ContinueRetrievePropertiesEx) soap.HasFault {
	c := pc.state(ctx)
	if c == nil {
		return pc.PropertyCollector.ContinueRetrievePropertiesEx(ctx, r)
	}
	body := new(methods.ContinueRetrievePropertiesExBody)
	p, ok := c.takePage(r.Token)
	if !ok {
		body.Fault_ = soapFault(&types.InvalidProperty{Name: "token"})
		return body
	}
	body.Res = new(types.ContinueRetrievePropertiesExResponse)
	body.Res.Returnval.Objects, body.Res.Returnval.Token = c.turnPage(p.objects, p.size)
	return body
}

// CancelRetrievePropertiesEx drops the remaining pages.
func (pc *PropertyCollector) CancelRetrievePropertiesEx(ctx *simulator.Context, r *types.CancelRetrievePropertiesEx) soap.HasFault {
	body := new(methods.CancelRetrievePropertiesExBody)
	c := pc.state(ctx)
	if c == nil {
		body.Fault_ = soapFault(&types.InvalidProperty{Name: "token"})
		return body
	}
	if _, ok := c.takePage(r.Token); !ok {
		body.Fault_ = soapFault(&types.InvalidProperty{Name: "token"})
		return body
	}
	body.Res = new(types.CancelRetrievePropertiesExResponse)
	return body
}

// RetrieveProperties is RetrievePropertiesEx without pages. Clients still use it.
func (pc *PropertyCollector) RetrieveProperties(ctx *simulator.Context, r *types.RetrieveProperties) soap.HasFault {
	c := pc.state(ctx)
	if c == nil {
		return pc.PropertyCollector.RetrieveProperties(ctx, r)
	}
	body := new(methods.RetrievePropertiesBody)
	objects, fault := c.service.retrieve(ctx, r.SpecSet)
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	body.Res = &types.RetrievePropertiesResponse{Returnval: objects}
	return body
}

// turnPage splits off the first page and keeps the rest under a token.
func (c *collector) turnPage(objects []types.ObjectContent, size int) ([]types.ObjectContent, string) {
	if size <= 0 || len(objects) <= size {
		return objects, ""
	}
	p := page{token: uuid.NewString(), size: size, objects: objects[size:]}
	c.mu.Lock()
	c.pages = append(c.pages, p)
	if n := len(c.pages) - maxPages; n > 0 {
		c.pages = append([]page(nil), c.pages[n:]...)
	}
	c.mu.Unlock()
	return objects[:size:size], p.token
}

func (c *collector) takePage(token string) (page, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, p := range c.pages {
		if p.token == token {
			c.pages = append(c.pages[:i:i], c.pages[i+1:]...)
			return p, true
		}
	}
	return page{}, false
}
