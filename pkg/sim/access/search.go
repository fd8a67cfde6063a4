package access

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Searches of a user who may not see what is there find nothing, and say nothing of it. That is so for vCenter: "the
// managed entity that is found, or null". Those by UUID, DNS name and address are pkg/sim/truth's, with [Manager.Filter].

// FindByInventoryPath finds what the path leads to.
func (r *receiver) FindByInventoryPath(ctx *simulator.Context, req *types.FindByInventoryPath) soap.HasFault {
	answer := ctx.Map.SearchIndex().FindByInventoryPath(ctx, req)
	if body, ok := answer.(*methods.FindByInventoryPathBody); ok && body.Res != nil {
		body.Res.Returnval = r.seen(ctx, body.Res.Returnval)
	}
	return answer
}

// FindChild finds a child by name.
func (r *receiver) FindChild(ctx *simulator.Context, req *types.FindChild) soap.HasFault {
	answer := ctx.Map.SearchIndex().FindChild(ctx, req)
	if body, ok := answer.(*methods.FindChildBody); ok && body.Res != nil {
		body.Res.Returnval = r.seen(ctx, body.Res.Returnval)
	}
	return answer
}

// FindByDatastorePath finds a VM by its configuration file.
func (r *receiver) FindByDatastorePath(ctx *simulator.Context, req *types.FindByDatastorePath) soap.HasFault {
	answer := ctx.Map.SearchIndex().FindByDatastorePath(ctx, req)
	if body, ok := answer.(*methods.FindByDatastorePathBody); ok && body.Res != nil {
		body.Res.Returnval = r.seen(ctx, body.Res.Returnval)
	}
	return answer
}

func (r *receiver) seen(ctx *simulator.Context, ref *vc.Ref) *vc.Ref {
	if ref == nil || !r.m.Visible(ctx, *ref) {
		return nil
	}
	return ref
}
