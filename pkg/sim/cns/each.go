package cns

import (
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// each makes the result of a task about volumes, one spec after the other: f does what is asked for, or is given the fault
// that the script has for it. A call for nothing is refused.
func each[T any](m *Manager, method string, specs []T, id func(*T) string,
	f func(spec *T, scripted types.BaseMethodFault) cnstypes.BaseCnsVolumeOperationResult,
) (types.AnyType, types.BaseMethodFault) {
	if len(specs) == 0 {
		return nil, &types.InvalidArgument{InvalidProperty: "specs"}
	}
	results := make([]cnstypes.BaseCnsVolumeOperationResult, 0, len(specs))
	for i := range specs {
		says := m.scripted(method, id(&specs[i]), vc.Ref{})
		if says.task != nil {
			return nil, says.task
		}
		results = append(results, f(&specs[i], says.fault))
	}
	return batch(results...), nil
}

// eachPlain is each for calls whose results tell no more than what failed.
func eachPlain[T any](m *Manager, method string, specs []T, id func(*T) string, f func(*T) types.BaseMethodFault,
) (types.AnyType, types.BaseMethodFault) {
	return each(m, method, specs, id, func(spec *T, fault types.BaseMethodFault) cnstypes.BaseCnsVolumeOperationResult {
		if fault == nil {
			fault = f(spec)
		}
		r := outcome(id(spec), fault)
		return &r
	})
}
