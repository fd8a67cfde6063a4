package inventory

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// What vCenters say they are.
const (
	Version     = "8.0.3"
	BuildNumber = "24022515"
)

// What hosts say they are: an update behind their vCenter, as is common, because govmomi knows no newer one and vcsim
// panics at the version of a host that it does not know.
const (
	hostVersion = "8.0.2"
	hostBuild   = "22380479"
)

// host is a host with the compute resource it belongs to.
type host struct {
	obj     *simulator.HostSystem
	compute *mo.ComputeResource
}

// cpuMhz is the clock of every core.
const cpuMhz = 2600

// compute makes the datacenter's clusters and standalone hosts.
func (b *builder) compute(dc *datacenter) error {
	folder := b.sim.Map.Get(dc.obj.HostFolder).(*simulator.Folder)
	for _, c := range dc.Clusters {
		if err := b.cluster(dc, folder, c); err != nil {
			return fmt.Errorf("cluster %q: %w", c.Name, err)
		}
	}
	for _, h := range dc.Hosts {
		ctx := b.fresh()
		var body *methods.AddStandaloneHost_TaskBody
		ctx.WithLock(folder, func() {
			body = folder.AddStandaloneHostTask(ctx, &types.AddStandaloneHost_Task{
				This: folder.Self, Spec: types.HostConnectSpec{HostName: h.Name}, AddConnected: true,
			}).(*methods.AddStandaloneHost_TaskBody)
		})
		if err := vc.Err(body); err != nil {
			return fmt.Errorf("host %q: %w", h.Name, err)
		}
		if err := b.host(dc, h, body.Res.Returnval); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) cluster(dc *datacenter, folder *simulator.Folder, spec topology.Cluster) error {
	ctx := b.fresh()
	var body *methods.CreateClusterExBody
	ctx.WithLock(folder, func() {
		body = folder.CreateClusterEx(ctx, &types.CreateClusterEx{This: folder.Self, Name: spec.Name}).(*methods.CreateClusterExBody)
	})
	if err := vc.Err(body); err != nil {
		return err
	}
	cluster := b.sim.Map.Get(body.Res.Returnval).(*simulator.ClusterComputeResource)
	b.place(cluster.Self, spec.Place)

	// All are begun before the first is waited for: a task's end is polled for every 10 ms. The lock on the cluster
	// keeps them in order.
	tasks := make([]vc.Ref, len(spec.Hosts))
	for i, h := range spec.Hosts {
		ctx := b.fresh()
		ctx.WithLock(cluster, func() {
			tasks[i] = cluster.AddHostTask(ctx, &types.AddHost_Task{
				This: cluster.Self, Spec: types.HostConnectSpec{HostName: h.Name}, AsConnected: true,
			}).(*methods.AddHost_TaskBody).Res.Returnval
		})
	}
	for i, h := range spec.Hosts {
		if err := b.host(dc, h, tasks[i]); err != nil {
			return err
		}
	}
	return nil
}

// host finishes what the task made of the host.
func (b *builder) host(dc *datacenter, spec topology.Host, task vc.Ref) error {
	result, err := vc.Wait(b.sim, task)
	if err != nil {
		return fmt.Errorf("host %q: %w", spec.Name, err)
	}
	obj := b.sim.Map.Get(result.(vc.Ref)).(*simulator.HostSystem)
	compute, ok := vc.Compute(b.sim.Map.Get(*obj.Parent))
	if !ok {
		return fmt.Errorf("host %q: parent %s is no compute resource", spec.Name, obj.Parent.Value)
	}
	h := &host{obj: obj, compute: compute}
	dc.hosts = append(dc.hosts, h)
	dc.byName[spec.Name] = h
	b.place(obj.Self, spec.Place)

	ctx := b.fresh()
	ctx.WithLock(obj, func() { b.size(dc, obj, spec) })
	ctx.WithLock(b.sim.Map.Get(*obj.Parent), func() { total(b.sim, compute) })
	return nil
}

// size gives the host its own hardware. vcsim makes all of two cores and 4 GB, with a UUID that is a hash of the name
// and so the same in every vCenter; some of what is set here is shared between hosts until it is.
func (b *builder) size(dc *datacenter, h *simulator.HostSystem, spec topology.Host) {
	id := b.derive("host", dc.Name, spec.Name)
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

	if p := h.Summary.Config.Product; p != nil {
		product := *p
		product.Version, product.ApiVersion, product.Build = hostVersion, hostVersion+".0", hostBuild
		product.FullName = product.Name + " " + hostVersion + " build-" + hostBuild
		h.Summary.Config.Product = &product
		if h.Config != nil {
			h.Config.Product = product
		}
	}
}

// total sums up a compute resource, as vcsim did with the hardware that its hosts had at first.
func total(ctx *simulator.Context, c *mo.ComputeResource) {
	s := c.Summary.GetComputeResourceSummary()
	s.TotalCpu, s.TotalMemory, s.NumCpuCores, s.NumCpuThreads = 0, 0, 0, 0
	for _, ref := range c.Host {
		h, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
		if !ok {
			continue
		}
		hw := h.Summary.Hardware
		s.TotalCpu += hw.CpuMhz * int32(hw.NumCpuCores)
		s.TotalMemory += hw.MemorySize
		s.NumCpuCores += hw.NumCpuCores
		s.NumCpuThreads += hw.NumCpuThreads
	}
	s.EffectiveCpu, s.EffectiveMemory = s.TotalCpu, s.TotalMemory>>20 // MHz and MB
}
