package property

import (
	"reflect"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// view is implemented by objects whose managed-object state is computed, such
// as vcsim's history collectors. It is called with the object locked.
type view interface{ Get() mo.Reference }

// sessionView is view for an object of ours that needs to know who asks.
type sessionView interface {
	managedObject(*simulator.Context) mo.Reference
}

// typeOf is the managed-object type behind a reference, as the session of the
// call sees it. Nothing is locked.
func typeOf(ctx *simulator.Context, ref types.ManagedObjectReference) (reflect.Type, bool) {
	obj := ctx.Session.Get(ref)
	if obj == nil {
		return nil, false
	}
	return moType(reflect.TypeOf(obj))
}

// withObject calls f with the managed object behind a reference while the
// object, and only it, is locked. It says false when there is none.
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
