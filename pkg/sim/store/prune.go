package store

import (
	"reflect"

	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// forget drops references to objects of the tree that were not saved: an inventory may change while it is saved, and a
// user may not be allowed to read everything in it. vcsim takes it for granted that what is referred to is there. What an
// object cannot be without was checked by [Load].
func (in *installer) forget() {
	for _, o := range in.order {
		if !isEntity(o.ref.Type) {
			continue
		}
		if e, ok := o.obj.(mo.Entity); ok {
			e.Entity().RecentTask = nil
		}
		in.prune(o, reflect.ValueOf(o.obj))
	}
}

// prune looks through a value, but not behind interfaces: there are devices and the like, whose references clients follow
// and vcsim does not.
func (in *installer) prune(o *item, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if ref, ok := reflect.TypeAssert[*vc.Ref](v); ok {
			if in.lost(o, *ref) && v.CanSet() {
				v.SetZero()
			}
			return
		}
		in.prune(o, v.Elem())
	case reflect.Slice:
		if refs, ok := reflect.TypeAssert[[]vc.Ref](v); ok {
			in.pruneList(o, v, refs)
			return
		}
		if v.Type().Elem().Kind() == reflect.Struct || v.Type().Elem().Kind() == reflect.Pointer {
			for i := range v.Len() {
				in.prune(o, v.Index(i))
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[vc.Ref]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				in.prune(o, v.Field(i))
			}
		}
	}
}

func (in *installer) pruneList(o *item, v reflect.Value, refs []vc.Ref) {
	kept := refs[:0]
	for _, ref := range refs {
		if !in.lost(o, ref) {
			kept = append(kept, ref)
		}
	}
	if v.CanSet() {
		v.Set(reflect.ValueOf(kept))
	}
}

// lost tells whether the reference is to an object of the tree that is not there.
func (in *installer) lost(o *item, ref vc.Ref) bool {
	if !isEntity(ref.Type) || in.objects[ref] != nil || ref.Value == "ha-host" { // so a host calls itself
		return false
	}
	in.note("%s %s refers to %s %s, which is not in the folder", o.ref.Type, o.ref.Value, ref.Type, ref.Value)
	return true
}
