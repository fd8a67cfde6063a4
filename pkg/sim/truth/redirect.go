package truth

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Corrections answers the corrected calls of one vCenter. Make one with [Install].
type Corrections struct {
	Self vc.Ref

	index *index
}

// corrected names the methods that [Corrections] implements, by the type of object they are called on.
var corrected = map[string][]string{
	"SearchIndex": {
		"FindByUuid", "FindAllByUuid", "FindByDnsName", "FindAllByDnsName", "FindByIp", "FindAllByIp",
	},
	"VirtualMachine": {
		"RelocateVM_Task", "MigrateVM_Task", "ResetVM_Task", "RebootGuest", "ShutdownGuest", "StandbyGuest",
	},
	"Datastore": {"RefreshDatastore"},
}

// Install puts the corrections into the vCenter of base, which must not serve yet. [Corrections.Redirect] must be
// called for every call that reaches the vCenter. Close ends it.
func Install(base *simulator.Context) *Corrections {
	c := &Corrections{Self: vc.Ref{Type: "SandboxCorrections", Value: "sandbox-corrections"}, index: newIndex()}
	base.Map.Put(c)
	base.Map.AddHandler(c.index)
	c.index.fill(base)
	return c
}

// Close stops following the vCenter.
func (c *Corrections) Close(base *simulator.Context) { base.Map.RemoveHandler(c.index) }

// Redirect sends a call of a corrected method here; it belongs into the registry's call hook. vcsim looks the receiver
// up by method.This after that hook, while the receiver that the client meant stays in the request's body.
func (c *Corrections) Redirect(ctx *simulator.Context, method *simulator.Method) {
	if ctx.Session == nil || !slices.Contains(corrected[method.This.Type], method.Name) {
		return
	}
	obj := ctx.Map.Get(method.This)
	if obj == nil {
		return // vcsim says that it is gone
	}
	if e, ok := obj.(mo.Entity); ok && slices.Contains(e.Entity().DisabledMethod, method.Name) {
		return // vcsim says that it is disabled
	}
	method.This = c.Self
}

// Reference implements mo.Reference.
func (c *Corrections) Reference() vc.Ref { return c.Self }

// Lock and Unlock do nothing: vcsim locks the receiver of a call for its duration, and this one receives calls on many
// objects. The methods lock what they change.
func (c *Corrections) Lock()   {}
func (c *Corrections) Unlock() {}
