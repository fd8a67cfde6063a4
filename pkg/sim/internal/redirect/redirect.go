// Package redirect sends calls on vcsim's objects to objects of ours.
//
// The objects in vcsim's registry must stay of vcsim's own types, which vcsim asserts in many places. So a corrected
// method is a method of a managed object of ours; the call is redirected to it before dispatch, while the object that
// the client meant stays in the request's body (This).
//
// Floor 2, inside pkg/sim.
package redirect

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Receiver is embedded in an object that calls are redirected to. The object itself has to be put into the registry.
type Receiver struct {
	// Object stays empty. vcsim goes through all objects of its registry here and there (FindByDatastorePath does, and
	// RegisterVM with it), digs for a type of package mo in their first fields, and panics where there is none.
	Object mo.CertificateManager

	Self vc.Ref
	// Methods names the methods that the object implements, by the type of object they are called on.
	Methods map[string][]string
}

// Redirect sends the call to the receiver if it is one of its methods, and reports whether it was. It belongs into the
// registry's call hook: vcsim looks the receiver up by method.This after that hook.
func (r *Receiver) Redirect(ctx *simulator.Context, method *simulator.Method) bool {
	if ctx.Session == nil || !slices.Contains(r.Methods[method.This.Type], method.Name) {
		return false
	}
	obj := ctx.Map.Get(method.This)
	if obj == nil {
		return false // vcsim says that it is gone
	}
	if e, ok := obj.(mo.Entity); ok && slices.Contains(e.Entity().DisabledMethod, method.Name) {
		return false // vcsim says that it is disabled
	}
	method.This = r.Self
	return true
}

// Reference implements mo.Reference.
func (r *Receiver) Reference() vc.Ref { return r.Self }

// Lock and Unlock do nothing: vcsim locks the receiver of a call for its duration, and this one receives calls on many
// objects. The methods lock what they change.
func (r *Receiver) Lock() {}

// Unlock does nothing; see Lock.
func (r *Receiver) Unlock() {}
