package inventory

import (
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// QueryDvsByUuid finds a distributed switch by its UUID. vcsim does not have it; the Terraform provider starts from it.
func (j *HostAdder) QueryDvsByUuid(ctx *simulator.Context, req *types.QueryDvsByUuid) soap.HasFault {
	body := &methods.QueryDvsByUuidBody{Res: new(types.QueryDvsByUuidResponse)}
	for _, obj := range ctx.Map.All("DistributedVirtualSwitch") {
		if dvs, ok := obj.(*simulator.DistributedVirtualSwitch); ok && strings.EqualFold(dvs.Uuid, req.Uuid) {
			body.Res.Returnval = new(dvs.Self)
		}
	}
	return body
}
