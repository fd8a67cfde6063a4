package property

import (
	"hash/maphash"
	gopath "path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// schema maps managed objects to Go types. It caches reflection, and is safe for concurrent use.
type schema struct {
	seed   maphash.Seed
	fields sync.Map // fieldKey → fieldIndex
	plain  sync.Map // reflect.Type → bool
}

func newSchema() *schema { return &schema{seed: maphash.MakeSeed()} }

type fieldKey struct {
	t    reflect.Type
	name string
}

type fieldIndex struct {
	index []int
	ok    bool
}

// field returns the field of a struct type for a property name.
func (s *schema) field(t reflect.Type, name string) ([]int, bool) {
	k := fieldKey{t, name}
	if v, ok := s.fields.Load(k); ok {
		f := v.(fieldIndex)
		return f.index, f.ok
	}
	var f fieldIndex
	if name != "" && t.Kind() == reflect.Struct {
		f.index, f.ok = findField(t, strings.ToUpper(name[:1])+name[1:])
	}
	s.fields.Store(k, f)
	return f.index, f.ok
}

// findField is reflect's FieldByName without embedded structs: the property resourcePool of a VirtualApp is a list, not the
// ResourcePool that it embeds.
func findField(t reflect.Type, name string) ([]int, bool) {
	for i := range t.NumField() {
		if sf := t.Field(i); sf.Name == name && !sf.Anonymous && sf.IsExported() {
			return []int{i}, true
		}
	}
	for i := range t.NumField() {
		sf := t.Field(i)
		if !sf.Anonymous || sf.Type.Kind() != reflect.Struct {
			continue
		}
		if index, ok := findField(sf.Type, name); ok {
			return append([]int{i}, index...), true
		}
	}
	return nil, false
}

// isA reports whether a managed object has the type that a client named: its own, or a base type such as ManagedEntity.
func (s *schema) isA(t reflect.Type, refType, name string) bool {
	if name == refType || name == t.Name() {
		return true
	}
	f, ok := t.FieldByName(name)
	return ok && f.Anonymous
}

// moType returns the type of package mo that a simulator type wraps: by vcsim's convention the first field, at any depth.
func moType(t reflect.Type) (reflect.Type, bool) {
	for {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if gopath.Base(t.PkgPath()) == "mo" && t.Kind() == reflect.Struct {
			return t, true
		}
		if t.Kind() != reflect.Struct || t.NumField() == 0 {
			return nil, false
		}
		t = t.Field(0).Type
	}
}

// moValue is moType for a value.
func moValue(v reflect.Value) (reflect.Value, bool) {
	for {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		if gopath.Base(v.Type().PkgPath()) == "mo" && v.Kind() == reflect.Struct {
			return v, true
		}
		if v.Kind() != reflect.Struct || v.NumField() == 0 {
			return v, false
		}
		v = v.Field(0)
	}
}

// propertyName returns the name of a field on the wire.
func propertyName(field string) string {
	return strings.ToLower(field[:1]) + field[1:]
}

// path is a parsed property path: "runtime.powerState",
// `config.extraConfig["guestinfo.metadata"].value`, "config.hardware.device[4000]".
type path struct {
	name string
	// base are the field names before the index.
	base []string
	// key is the index: a string, an int32, or nil for a path without one.
	key any
	// item are the field names after the index.
	item []string
	// valid is false for a malformed path.
	valid bool
}

func parsePath(name string) path {
	p := path{name: name}
	var f mo.Field
	if name == "" || !f.FromString(name) {
		return p
	}
	p.base = strings.Split(f.Path, ".")
	p.key = f.Key
	if f.Item != "" {
		p.item = strings.Split(f.Item, ".")
	}
	p.valid = true
	return p
}

// top returns the first field name of a path.
func top(name string) string {
	if i := strings.IndexAny(name, ".["); i >= 0 {
		return name[:i]
	}
	return name
}

// within reports whether name is the path or below it.
func within(name, path string) bool {
	if !strings.HasPrefix(name, path) {
		return false
	}
	return len(name) == len(path) || name[len(path)] == '.' || name[len(path)] == '['
}

// related reports whether a change of one path can change the value of the other: they are equal, or one is below the other.
func related(a, b string) bool {
	return within(a, b) || within(b, a)
}

// links are the references of an entity to its place in the inventory.
type links struct {
	// up are its parents: for a VM also its host and its resource pool.
	up []types.ManagedObjectReference
	// near are other objects that list it: for a VM its datastores and networks.
	near []types.ManagedObjectReference
}

// linksOf returns the links of an entity, which must be locked or not yet shared. It returns false for other objects.
func linksOf(obj mo.Reference) (links, bool) {
	e, ok := obj.(mo.Entity)
	if !ok {
		return links{}, false
	}
	var l links
	l.hang(e.Entity().Parent)
	v, ok := moValue(reflect.ValueOf(obj))
	if !ok || !v.CanAddr() {
		return l, true
	}
	if vm, ok := reflect.TypeAssert[*mo.VirtualMachine](v.Addr()); ok {
		l.hang(vm.Runtime.Host)
		l.hang(vm.ResourcePool)
		l.near = append(append(l.near, vm.Datastore...), vm.Network...)
	}
	return l, true
}

func (l *links) hang(ref *types.ManagedObjectReference) {
	if ref != nil && ref.Value != "" {
		l.up = append(l.up, *ref)
	}
}

func (l *links) all() []types.ManagedObjectReference {
	return append(append([]types.ManagedObjectReference(nil), l.up...), l.near...)
}

// view is implemented by objects with a computed state, such as vcsim's history collectors. It is called with the object locked.
type view interface{ Get() mo.Reference }

// sessionView is view for objects that depend on the session.
type sessionView interface {
	managedObject(*simulator.Context) mo.Reference
}

// typeOf returns the managed-object type behind a reference, as the session of the call sees it, without a lock.
func typeOf(ctx *simulator.Context, ref types.ManagedObjectReference) (reflect.Type, bool) {
	obj := ctx.Session.Get(ref)
	if obj == nil {
		return nil, false
	}
	return moType(reflect.TypeOf(obj))
}

// withObject calls f with the managed object behind a reference, with only that object locked. It returns false if the object
// does not exist.
func (s *Service) withObject(ctx *simulator.Context, ref types.ManagedObjectReference, f func(reflect.Value)) bool {
	obj := ctx.Session.Get(ref)
	if obj == nil {
		return false
	}
	s.newborns.await(ctx, ref)
	unlock := ctx.Map.AcquireLock(ctx, obj)
	defer unlock()

	shown := obj
	switch o := obj.(type) {
	case sessionView:
		shown = o.managedObject(ctx)
	case view:
		shown = o.Get()
	default:
		if s.options.Shown != nil {
			shown = s.options.Shown(obj)
		}
	}
	v, ok := moValue(reflect.ValueOf(shown))
	if ok {
		f(v)
	}
	return ok
}

// refSet is a set of references that can be read as a list without a copy. The order is that of addition until an element is
// removed. The zero value is empty.
type refSet struct {
	list []types.ManagedObjectReference
	at   map[types.ManagedObjectReference]int
}

func (s *refSet) has(ref types.ManagedObjectReference) bool {
	_, ok := s.at[ref]
	return ok
}

// add reports whether the reference is new.
func (s *refSet) add(ref types.ManagedObjectReference) bool {
	if s.has(ref) {
		return false
	}
	if s.at == nil {
		s.at = make(map[types.ManagedObjectReference]int)
	}
	s.at[ref] = len(s.list)
	s.list = append(s.list, ref)
	return true
}

// remove reports whether the reference was in the set. The last one takes its place.
func (s *refSet) remove(ref types.ManagedObjectReference) bool {
	i, ok := s.at[ref]
	if !ok {
		return false
	}
	last := len(s.list) - 1
	s.list[i] = s.list[last]
	s.at[s.list[i]] = i
	s.list = s.list[:last]
	delete(s.at, ref)
	return true
}

func (s *refSet) copy() []types.ManagedObjectReference { return slices.Clone(s.list) }

func isTime(t reflect.Type) bool { return t == reflect.TypeFor[time.Time]() }

// digest returns a hash of a value. It is 0 only for nil. A collision (1 in 2⁶⁴) would hide one change.
func (s *schema) digest(val any) uint64 {
	if val == nil {
		return 0
	}
	if str, ok := val.(string); ok { // most properties
		return maphash.String(s.seed, str) | 1
	}
	var h maphash.Hash
	h.SetSeed(s.seed)
	hashValue(&h, reflect.ValueOf(val))
	return h.Sum64() | 1
}

func hashValue(h *maphash.Hash, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			h.WriteByte(0)
			return
		}
		h.WriteByte(1)
		e := v.Elem()
		if v.Kind() == reflect.Interface {
			h.WriteString(e.Type().String())
		}
		hashValue(h, e)
	case reflect.Slice:
		maphash.WriteComparable(h, v.Len())
		for i := range v.Len() {
			hashValue(h, v.Index(i))
		}
	case reflect.Struct:
		if isTime(v.Type()) {
			maphash.WriteComparable(h, v.Interface().(time.Time).UnixNano())
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				hashValue(h, v.Field(i))
			}
		}
	case reflect.String:
		maphash.WriteComparable(h, v.Len()) // "ab","c" is not "a","bc"
		h.WriteString(v.String())
	case reflect.Bool:
		maphash.WriteComparable(h, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		maphash.WriteComparable(h, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		maphash.WriteComparable(h, v.Uint())
	case reflect.Float32, reflect.Float64:
		maphash.WriteComparable(h, v.Float())
	}
}
