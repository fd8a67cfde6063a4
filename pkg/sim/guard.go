package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// hook is vcsim's hook before every SOAP call: it checks permissions and arguments, and redirects the call.
func (v *VCenter) hook(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if receiver, fault := v.service.access.Hook(ctx, method); receiver != nil || fault != nil {
		return receiver, fault
	}
	if fault := v.truth.Check(ctx, method); fault != nil {
		return nil, fault
	}
	if fault := v.hosts.Check(ctx, method); fault != nil {
		return nil, fault
	}
	_ = v.hosts.Redirect(ctx, method) ||
		v.service.volumes.Redirect(ctx, method) ||
		v.guests.Redirect(ctx, method) ||
		v.joining.Redirect(ctx, method) ||
		v.truth.Redirect(ctx, method)
	return nil, nil
}
