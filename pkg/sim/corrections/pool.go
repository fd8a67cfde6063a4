package corrections

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// CreateResourcePool creates a pool with its own summary. vcsim writes the name of each new pool into one summary that all pools
// of the process share.
func (c *Corrections) CreateResourcePool(ctx *simulator.Context, req *types.CreateResourcePool) soap.HasFault {
	body := new(methods.CreateResourcePoolBody)
	parent := ctx.Map.Get(req.This)
	var above *mo.ResourcePool
	switch p := parent.(type) {
	case *simulator.ResourcePool:
		above = &p.ResourcePool
	case *simulator.VirtualApp:
		above = &p.ResourcePool
	default:
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})
		return body
	}
	for property, a := range map[string]types.ResourceAllocationInfo{
		"spec.cpuAllocation": req.Spec.CpuAllocation, "spec.memoryAllocation": req.Spec.MemoryAllocation,
	} {
		if !complete(a) {
			body.Fault_ = simulator.Fault("", &types.InvalidArgument{InvalidProperty: property})
			return body
		}
	}
	ctx.WithLock(parent, func() {
		for _, ref := range above.ResourcePool {
			if c.Name(ref) == req.Name {
				body.Fault_ = simulator.Fault("", &types.DuplicateName{Name: req.Name, Object: ref})
				return
			}
		}
		child := new(simulator.ResourcePool)
		child.Self.Type = "ResourcePool"
		ctx.Map.NewEntity(child)
		child.Name, child.Owner, child.Parent = req.Name, above.Owner, new(req.This)
		child.Config = req.Spec
		child.Config.Entity = new(child.Self)
		child.Runtime = above.Runtime
		child.Summary = &types.ResourcePoolSummary{Name: req.Name, Config: child.Config, Runtime: child.Runtime}
		ctx.Map.Put(child)
		ctx.Update(parent, []types.PropertyChange{vc.P("resourcePool", append(slices.Clone(above.ResourcePool), child.Self))})
		body.Res = &types.CreateResourcePoolResponse{Returnval: child.Self}
	})
	return body
}

// complete reports whether the allocation of a new pool is complete and valid.
func complete(a types.ResourceAllocationInfo) bool {
	return a.Reservation != nil && *a.Reservation >= 0 &&
		a.Limit != nil && *a.Limit >= -1 &&
		a.ExpandableReservation != nil &&
		a.Shares != nil && (a.Shares.Level != types.SharesLevelCustom || a.Shares.Shares >= 0) &&
		a.OverheadLimit == nil
}
