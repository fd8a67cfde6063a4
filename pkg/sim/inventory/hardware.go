package inventory

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// cpuMhz is the clock rate of every core.
const cpuMhz = 2600

// size sets the host's hardware. vcsim gives all hosts two cores and 4 GB, and a UUID that is a hash of the name and so the same
// in every vCenter; hosts share some of it until it is set here.
func size(h *mo.HostSystem, spec *topology.Host, id string) {
	cores := int16(min(spec.CPUs, 1<<14))

	hw := *h.Hardware
	hw.SystemInfo.Uuid = id
	hw.CpuInfo = types.HostCpuInfo{NumCpuPackages: 1, NumCpuCores: cores, NumCpuThreads: cores, Hz: cpuMhz * 1_000_000}
	hw.MemorySize = int64(spec.Memory)
	h.Hardware = &hw

	s := h.Summary.Hardware
	s.Uuid = id
	s.CpuMhz = cpuMhz
	s.NumCpuPkgs, s.NumCpuCores, s.NumCpuThreads = 1, cores, cores
	s.MemorySize = int64(spec.Memory)
}

// brand sets the release of the host, in both places.
func brand(h *mo.HostSystem, r release) {
	p := h.Summary.Config.Product
	if p == nil {
		return
	}
	product := r.product(*p)
	h.Summary.Config.Product = &product
	if h.Config != nil {
		h.Config.Product = product
	}
}

// total sums up a compute resource, as vcsim did for the initial hardware of its hosts.
func total(c *compute) {
	s := c.obj.Summary.GetComputeResourceSummary()
	s.TotalCpu, s.TotalMemory, s.NumCpuCores, s.NumCpuThreads = 0, 0, 0, 0
	for _, h := range c.hosts {
		hw := h.obj.Summary.Hardware
		s.TotalCpu += hw.CpuMhz * int32(hw.NumCpuCores)
		s.TotalMemory += hw.MemorySize
		s.NumCpuCores += hw.NumCpuCores
		s.NumCpuThreads += hw.NumCpuThreads
	}
	s.EffectiveCpu, s.EffectiveMemory = s.TotalCpu, s.TotalMemory>>20 // MHz and MB
}

// describe sets the supported virtual hardware of a compute resource. vcsim does so when a host joins, and panics for a version
// that govmomi does not know, such as 8.0.3.
func describe(ctx *simulator.Context, c *mo.ComputeResource, newest release) {
	browser, ok := browser(ctx, c)
	if !ok {
		return
	}
	var all []types.VirtualMachineConfigOptionDescriptor
	for _, hv := range types.GetHardwareVersions() {
		key := hv.String()
		if hv > types.HardwareVersion(newest.hardware) {
			break
		}
		d := types.VirtualMachineConfigOptionDescriptor{
			Key: key, Description: key,
			DefaultConfigOption: key == newest.hardwareVersion(),
			CreateSupported:     true, RunSupported: true, UpgradeSupported: true,
		}
		for _, ref := range c.Host {
			h, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
			if ok && int(hv) <= newRelease(h.Config.Product.Version).hardware {
				d.Host = append(d.Host, ref)
			}
		}
		all = append(all, d)
	}
	fresh := vc.Fresh(ctx)
	fresh.WithLock(browser, func() { browser.QueryConfigOptionDescriptorResponse.Returnval = all })
}

// forgetDescriptors limits vcsim's check to the next host that joins; call [describe] afterward.
func forgetDescriptors(ctx *simulator.Context, c *mo.ComputeResource) {
	browser, ok := browser(ctx, c)
	if !ok {
		return
	}
	fresh := vc.Fresh(ctx)
	fresh.WithLock(browser, func() { browser.QueryConfigOptionDescriptorResponse.Returnval = nil })
}

func browser(ctx *simulator.Context, c *mo.ComputeResource) (*simulator.EnvironmentBrowser, bool) {
	if c.EnvironmentBrowser == nil {
		return nil, false
	}
	b, ok := ctx.Map.Get(*c.EnvironmentBrowser).(*simulator.EnvironmentBrowser)
	return b, ok
}
