// Package redirect redirects calls on vcsim's objects to other receivers.
//
// The objects in vcsim's registry must have vcsim's types, which vcsim asserts in many places. So a corrected method belongs to
// another managed object; the call is redirected to it before dispatch, while the request's body (This) still names the original
// object.
//
// Floor 2, inside pkg/sim.
package redirect

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Receiver is embedded in the receiver of redirected calls, which the caller puts into the registry.
type Receiver struct {
	// Object stays empty. Some calls of vcsim (FindByDatastorePath, RegisterVM) iterate over all objects of the registry, look
	// for a type of package mo in their first fields, and panic without one.
	Object mo.CertificateManager

	Self vc.Ref
	// Methods lists the methods of the receiver by the type of the original object.
	Methods map[string][]string
}

// Redirect redirects the call if the receiver implements it, and reports whether it did. Call it from the registry's call hook:
// vcsim looks the receiver up by method.This afterward.
func (r *Receiver) Redirect(ctx *simulator.Context, method *simulator.Method) bool {
	if ctx.Session == nil || !slices.Contains(r.Methods[method.This.Type], method.Name) {
		return false
	}
	obj := ctx.Map.Get(method.This)
	if obj == nil {
		return false // vcsim reports that it is gone
	}
	if e, ok := obj.(mo.Entity); ok && slices.Contains(e.Entity().DisabledMethod, method.Name) {
		return false // vcsim reports that it is disabled
	}
	method.This = r.Self
	return true
}

// Reference implements mo.Reference.
func (r *Receiver) Reference() vc.Ref { return r.Self }

// Lock and Unlock do nothing: vcsim locks the receiver of a call for its duration, and this one receives calls on many objects.
// The methods lock what they change.
func (r *Receiver) Lock() {}

// Unlock does nothing; see Lock.
func (r *Receiver) Unlock() {}
