package truth

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// RenameTask refuses a name that is taken with DuplicateName, where vcsim says that the argument is invalid.
func (c *Corrections) RenameTask(ctx *simulator.Context, req *types.Rename_Task) soap.HasFault {
	body := new(methods.Rename_TaskBody)
	obj := ctx.Map.Get(req.This)
	renamer, ok := obj.(interface {
		RenameTask(*simulator.Context, *types.Rename_Task) soap.HasFault
	})
	if !ok {
		body.Fault_ = simulator.Fault("", &types.NotSupported{})
		return body
	}
	other, taken := sibling(ctx, obj, req.NewName)
	if !taken {
		was := c.Name(req.This)
		body := renamer.RenameTask(ctx, req)
		if obj.Reference().Type == "Datacenter" && was != req.NewName {
			postDatacenterRenamed(vc.Fresh(ctx), req.This, was, req.NewName)
		}
		return body
	}
	task := simulator.CreateTask(obj, "rename", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		return nil, &types.DuplicateName{Name: req.NewName, Object: other}
	})
	body.Res = &types.Rename_TaskResponse{Returnval: task.Run(ctx)}
	return body
}

// sibling finds the object of that name beside obj in its folder. That is checked again by vcsim, with less to say, if
// somebody is faster.
func sibling(ctx *simulator.Context, obj mo.Reference, name string) (vc.Ref, bool) {
	e, ok := obj.(mo.Entity)
	if !ok || e.Entity().Parent == nil {
		return vc.Ref{}, false
	}
	folder, ok := ctx.Map.Get(*e.Entity().Parent).(*simulator.Folder)
	if !ok {
		return vc.Ref{}, false
	}
	var children []vc.Ref
	ctx.WithLock(folder, func() { children = append(children, folder.ChildEntity...) })
	other := ctx.Map.FindByName(name, children)
	if other == nil || other.Reference() == obj.Reference() {
		return vc.Ref{}, false
	}
	return other.Reference(), true
}

func postDatacenterRenamed(ctx *simulator.Context, ref vc.Ref, was, is string) {
	vc.Post(ctx, &types.DatacenterRenamedEvent{
		DatacenterEvent: types.DatacenterEvent{Event: types.Event{Datacenter: &types.DatacenterEventArgument{
			EntityEventArgument: entity(is), Datacenter: ref,
		}}},
		OldName: was, NewName: is,
	})
}
