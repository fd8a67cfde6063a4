package property

import (
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
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

// fetchBody is the answer to Fetch, whose types vcsim does not export.
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

// specific returns the object behind a reference that names a base type, such as ManagedEntity, as clients use with Fetch.
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

// specificRoots returns specs that start from the objects behind references that name a base type, such as
// ComputeResource:domain-c9 for a cluster. A vCenter finds objects by their values, and answers with their own types.
func (s *Service) specificRoots(ctx *simulator.Context, specs []types.PropertyFilterSpec) []types.PropertyFilterSpec {
	own := slices.Clone(specs)
	for i := range own {
		set := slices.Clone(own[i].ObjectSet)
		for j := range set {
			set[j].Obj = s.specific(ctx, set[j].Obj)
		}
		own[i].ObjectSet = set
	}
	return own
}

// reading is the outcome of reading a path.
type reading int

const (
	found   reading = iota // the property has a value
	unset                  // the property exists without a value
	invalid                // the object's type has no such property
)

// read copies the value at a path of a managed object in its wire form: lists as ArrayOf types, no pointers. The object must be
// locked; the copy outlives the lock.
//
// Unset and invalid follow govmomi/simulator (property_collector.go, fieldValue and fieldValueKey).
func (s *schema) read(obj reflect.Value, p *path) (any, reading) {
	if !p.valid {
		return nil, invalid
	}
	v, r := s.walk(obj, p.base)
	if r != found {
		return nil, r
	}
	if p.key == nil {
		return s.result(v)
	}
	if v, r = indexed(v, p.key); r != found {
		return nil, r
	}
	if len(p.item) != 0 {
		if v, r = s.walk(v, p.item); r != found {
			return nil, r
		}
	}
	return s.result(v)
}

func (s *schema) result(v reflect.Value) (any, reading) {
	val := s.export(v)
	if val == nil {
		return nil, unset
	}
	return val, found
}

// walk follows field names from a struct.
func (s *schema) walk(v reflect.Value, names []string) (reflect.Value, reading) {
	for _, name := range names {
		for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, unset
			}
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return v, invalid // a field of a list or of a scalar
		}
		index, ok := s.field(v.Type(), name)
		if !ok {
			return v, invalid
		}
		var err error
		if v, err = v.FieldByIndexErr(index); err != nil || isUnset(v) {
			return v, unset
		}
	}
	return v, found
}

// indexed returns the element of a list by its Key field.
func indexed(list reflect.Value, key any) (reflect.Value, reading) {
	if list.Kind() != reflect.Slice {
		return list, invalid
	}
	for i := range list.Len() {
		v := list.Index(i)
		for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, invalid
			}
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return v, invalid
		}
		f := v.FieldByName("Key")
		if !f.IsValid() || !f.Comparable() || f.Type() != reflect.TypeOf(key) {
			return v, invalid
		}
		if f.Interface() == key {
			return v, found
		}
	}
	return reflect.Value{}, unset
}

// isUnset reports whether a field counts as unset. Numbers, booleans and lists are always set.
func isUnset(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return v.IsNil()
	case reflect.String:
		return v.Len() == 0
	}
	return false
}

// export copies a value for the wire: it follows pointers and interfaces, and wraps a list in its ArrayOf type. It returns nil
// for an unset value.
func (s *schema) export(v reflect.Value) any {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.Slice {
		array, ok := arrayOf(v.Type())
		if !ok {
			return nil
		}
		a := reflect.New(array).Elem()
		a.Field(0).Set(s.clone(v).Convert(a.Field(0).Type()))
		return a.Interface()
	}
	return s.clone(v).Interface()
}

// arrayOf returns the ArrayOf type for a list. Its only field is the list.
func arrayOf(list reflect.Type) (reflect.Type, bool) {
	name := strings.TrimPrefix(list.Elem().Name(), "Base")
	switch list.Elem().Kind() {
	case reflect.Uint8:
		name = "Byte"
	case reflect.Int16:
		name = "Short"
	case reflect.Int64:
		name = "Long"
	case reflect.Int32:
		if name == "int32" {
			name = "Int"
		}
	case reflect.String:
		if name == "string" {
			name = "String"
		}
	case reflect.Bool:
		name = "Boolean"
	case reflect.Float32:
		name = "Float"
	case reflect.Float64:
		name = "Double"
	}
	t, ok := types.TypeFunc()("ArrayOf" + name)
	if !ok || t.Kind() != reflect.Struct || t.NumField() != 1 || !list.ConvertibleTo(t.Field(0).Type) {
		return nil, false
	}
	return t, true
}

// clone returns a deep copy.
func (s *schema) clone(v reflect.Value) reflect.Value {
	if s.isPlain(v.Type()) {
		// A value taken from an addressable field would follow its changes.
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		return c
	}
	c := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(s.clone(v.Elem()))
			c.Set(p)
		}
	case reflect.Interface:
		if !v.IsNil() {
			c.Set(s.clone(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			l := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			if s.isPlain(v.Type().Elem()) {
				reflect.Copy(l, v)
			} else {
				for i := range v.Len() {
					l.Index(i).Set(s.clone(v.Index(i)))
				}
			}
			c.Set(l)
		}
	case reflect.Struct:
		c.Set(v) // also unexported parts, such as in time.Time
		for i := range v.NumField() {
			if f := c.Field(i); f.CanSet() && !s.isPlain(f.Type()) {
				f.Set(s.clone(v.Field(i)))
			}
		}
	default:
		c.Set(v)
	}
	return c
}

// isPlain reports whether copying a value of the type copies all of it.
func (s *schema) isPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return false
	case reflect.Struct:
		if isTime(t) {
			return true // its pointer is to a location, which never changes
		}
		if p, ok := s.plain.Load(t); ok {
			return p.(bool)
		}
		// Recursive types recurse through a pointer, list or interface, and
		// those end the search.
		plain := true
		for field := range t.Fields() {
			plain = plain && s.isPlain(field.Type)
		}
		s.plain.Store(t, plain)
		return plain
	}
	return true
}
