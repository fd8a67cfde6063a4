package property

import (
	"reflect"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// fetchBody is the answer to Fetch, whose types vcsim keeps to itself.
type fetchBody struct {
	Res    *fetchResponse `xml:"FetchResponse,omitempty"`
	Fault_ *soap.Fault    `xml:"http://schemas.xmlsoap.org/soap/envelope/ Fault,omitempty"`
}

type fetchResponse struct {
	Returnval types.AnyType `xml:"returnval,omitempty,typeattr"`
}

// Fault implements soap.HasFault.
func (b *fetchBody) Fault() *soap.Fault { return b.Fault_ }

// Fetch reads one property of the object that it is called on, as ovftool and
// the JSON protocol do: vcsim sends it here for every object. The request is of
// a type that only vcsim can name. The content of the service instance, which
// vcsim cuts down for ovftool, and calls without a session are left to vcsim.
func (pc *PropertyCollector) Fetch(ctx *simulator.Context, r any) soap.HasFault {
	v := reflect.ValueOf(r).Elem()
	this, _ := reflect.TypeAssert[types.ManagedObjectReference](v.FieldByName("This"))
	prop, _ := reflect.TypeAssert[string](v.FieldByName("Prop"))
	c := pc.state(ctx)
	if c == nil || this == vim25.ServiceInstance {
		out := reflect.ValueOf(&pc.PropertyCollector).MethodByName("Fetch").
			Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(r)})
		return out[0].Interface().(soap.HasFault)
	}
	this = c.service.specific(ctx, this)
	objects, fault := c.service.retrieve(ctx, []types.PropertyFilterSpec{{
		PropSet:   []types.PropertySpec{{Type: this.Type, PathSet: []string{prop}}},
		ObjectSet: []types.ObjectSpec{{Obj: this}},
	}})
	switch {
	case fault != nil:
		return &fetchBody{Fault_: soapFault(fault)}
	case len(objects) == 0:
		return &fetchBody{Fault_: soapFault(&types.ManagedObjectNotFound{Obj: this})}
	case len(objects[0].MissingSet) != 0:
		return &fetchBody{Fault_: soapFault(objects[0].MissingSet[0].Fault.Fault)}
	}
	body := &fetchBody{Res: new(fetchResponse)}
	if set := objects[0].PropSet; len(set) != 0 {
		body.Res.Returnval = set[0].Val
	}
	return body
}

// specific finds the object behind a reference that names a base type, such as
// ManagedEntity: clients fetch with those.
func (s *Service) specific(ctx *simulator.Context, ref types.ManagedObjectReference) types.ManagedObjectReference {
	if ctx.Session.Get(ref) != nil {
		return ref
	}
	for _, kind := range entityTypes() {
		own := types.ManagedObjectReference{Type: kind, Value: ref.Value}
		if ctx.Map.Get(own) != nil && s.schema.extends(kind, ref.Type) {
			return own
		}
	}
	return ref
}
