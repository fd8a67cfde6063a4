package host

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// sum brings the effective resources of a compute resource up to date: those of the hosts that could run a VM.
func (h *Hosts) sum(ref vc.Ref) {
	ctx := vc.Fresh(h.base)
	obj := ctx.Map.Get(ref)
	compute, ok := vc.Compute(obj)
	if !ok {
		return
	}
	h.summing.Lock()
	defer h.summing.Unlock()
	var hosts []vc.Ref
	ctx.WithLock(obj, func() { hosts = slices.Clone(compute.Host) })

	var effective, silent int32
	var mhz int32
	var bytes int64
	for _, ref := range hosts {
		host, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
		if !ok {
			continue
		}
		c := h.of(ref)
		if c.status() == types.ManagedEntityStatusRed {
			silent++
		}
		if c.fault() != nil || c.maintenance {
			continue
		}
		effective++
		ctx.WithLock(host, func() {
			if hw := host.Summary.Hardware; hw != nil {
				mhz += hw.CpuMhz * int32(hw.NumCpuCores)
				bytes += hw.MemorySize
			}
		})
	}
	status := types.ManagedEntityStatusGreen
	switch {
	case silent > 0 && effective == 0:
		status = types.ManagedEntityStatusRed
	case silent > 0:
		status = types.ManagedEntityStatusYellow
	}
	ctx.WithLock(obj, func() {
		next, s := copySummary(compute.Summary)
		if next == nil {
			return
		}
		was := *s
		s.NumHosts, s.NumEffectiveHosts = int32(len(hosts)), effective
		s.EffectiveCpu, s.EffectiveMemory = mhz, bytes>>20 // MHz and MB
		s.OverallStatus = status
		if *s == was && compute.OverallStatus == status {
			return
		}
		ctx.Update(obj, []types.PropertyChange{vc.P("summary", next), vc.P("overallStatus", status)})
	})
}

// copySummary copies the summary of a compute resource, and returns the part of the copy that all of them have.
func copySummary(s types.BaseComputeResourceSummary) (types.BaseComputeResourceSummary, *types.ComputeResourceSummary) {
	switch s := s.(type) {
	case *types.ComputeResourceSummary:
		c := *s
		return &c, &c
	case *types.ClusterComputeResourceSummary:
		c := *s
		return &c, &c.ComputeResourceSummary
	}
	return nil, nil
}
