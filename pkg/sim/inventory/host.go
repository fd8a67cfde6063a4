package inventory

import (
	"errors"
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// compute is a cluster or the compute resource of a standalone host.
type compute struct {
	obj   *mo.ComputeResource
	path  string
	hosts []*host
	pools []topology.Pool
	vapps []topology.VApp
	// byPath are its pools and vApps; "" is its root pool.
	byPath map[string]*pool
	// members are its VMs by their paths below the VM folder; nil without VM groups.
	members map[string]vc.Ref
}

// host is a host with its compute resource.
type host struct {
	obj     *simulator.HostSystem
	compute *compute
	// vms is the host's list, written when all VMs exist.
	vms []vc.Ref
}

// compute creates the datacenter's clusters and standalone hosts.
func (b *builder) compute(dc *datacenter) error {
	folder := b.sim.Map.Get(dc.obj.HostFolder).(*simulator.Folder)
	for i := range dc.Clusters {
		if err := b.cluster(dc, folder, &dc.Clusters[i]); err != nil {
			return fmt.Errorf("cluster %q: %w", dc.Clusters[i].Name, err)
		}
	}
	for i := range dc.Hosts {
		if err := b.standalone(dc, folder, &dc.Hosts[i]); err != nil {
			return fmt.Errorf("host %q: %w", dc.Hosts[i].Name, err)
		}
	}
	for _, c := range dc.computes {
		ctx := b.fresh()
		ctx.WithLock(c.obj.Self, func() { total(c) })
		describe(b.sim, c.obj, b.release)
	}
	return nil
}

func (b *builder) cluster(dc *datacenter, folder *simulator.Folder, spec *topology.Cluster) error {
	ctx := b.fresh()
	var body *methods.CreateClusterExBody
	ctx.WithLock(folder, func() {
		body = folder.CreateClusterEx(ctx, &types.CreateClusterEx{This: folder.Self, Name: spec.Name}).(*methods.CreateClusterExBody)
	})
	if err := vc.Err(body); err != nil {
		return err
	}
	cluster := b.sim.Map.Get(body.Res.Returnval).(*simulator.ClusterComputeResource)
	c := &compute{
		obj: &cluster.ComputeResource, path: dc.path + "/host/" + spec.Name,
		pools: spec.Pools, vapps: spec.VApps,
	}
	if len(spec.VMGroups) > 0 {
		c.members = make(map[string]vc.Ref)
	}
	dc.computes = append(dc.computes, c)
	dc.clusters[spec.Name] = c
	fresh := b.fresh()
	fresh.WithLock(cluster, func() { b.react(cluster) })
	b.note(c.path, cluster.Self, spec.Place, spec.Marks)
	for i := range spec.Hosts {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		forgetDescriptors(b.sim, &cluster.ComputeResource)
		var task vc.Ref
		ctx := b.fresh()
		ctx.WithLock(cluster, func() {
			task = cluster.AddHostTask(ctx, &types.AddHost_Task{
				This: cluster.Self, Spec: types.HostConnectSpec{HostName: spec.Hosts[i].Name}, AsConnected: true,
			}).(*methods.AddHost_TaskBody).Res.Returnval
		})
		if err := b.host(dc, c, &spec.Hosts[i], task); err != nil {
			return fmt.Errorf("host %q: %w", spec.Hosts[i].Name, err)
		}
	}
	return nil
}

func (b *builder) standalone(dc *datacenter, folder *simulator.Folder, spec *topology.Host) error {
	ctx := b.fresh()
	var body *methods.AddStandaloneHost_TaskBody
	ctx.WithLock(folder, func() {
		body = folder.AddStandaloneHostTask(ctx, &types.AddStandaloneHost_Task{
			This: folder.Self, Spec: types.HostConnectSpec{HostName: spec.Name}, AddConnected: true,
		}).(*methods.AddStandaloneHost_TaskBody)
	})
	if err := vc.Err(body); err != nil {
		return err
	}
	c := &compute{path: dc.path + "/host/" + spec.Name, pools: spec.Pools}
	dc.computes = append(dc.computes, c)
	return b.host(dc, c, spec, body.Res.Returnval)
}

// host completes a host that a task created.
func (b *builder) host(dc *datacenter, c *compute, spec *topology.Host, task vc.Ref) error {
	result, err := b.tasks.wait(b.sim, task)
	if err != nil {
		return err
	}
	obj := b.sim.Map.Get(result.(vc.Ref)).(*simulator.HostSystem)
	if c.obj == nil {
		resource, ok := vc.Compute(b.sim.Map.Get(*obj.Parent))
		if !ok {
			return fmt.Errorf("parent %s is no compute resource", obj.Parent.Value)
		}
		c.obj = resource
		b.built.Objects = append(b.built.Objects, Object{c.path, resource.Self})
	}
	h := &host{obj: obj, compute: c}
	c.hosts = append(c.hosts, h)
	dc.hosts = append(dc.hosts, h)
	dc.byName[spec.Name] = h
	b.note(c.path+"/"+spec.Name, obj.Self, spec.Place, spec.Marks)

	ctx := b.fresh()
	ctx.WithLock(obj, func() {
		size(&obj.HostSystem, spec, b.derive("host", dc.Name, spec.Name))
		brand(&obj.HostSystem, b.release)
	})
	return nil
}

// react sets the automatic actions in the cluster's configuration: HA and its admission control. DRS is enabled, as resource
// pools require, but moves no VM unless configured.
func (b *builder) react(cluster *simulator.ClusterComputeResource) {
	config, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
	if !ok {
		return
	}
	ha := b.reactions.HA
	config.DasConfig.Enabled = new(ha.Enabled == topology.Yes)
	config.DasConfig.AdmissionControlEnabled = new(ha.Enabled == topology.Yes && ha.HostFailures > 0)
	if ha.HostFailures > 0 {
		config.DasConfig.FailoverLevel = ha.HostFailures
		config.DasConfig.AdmissionControlPolicy = &types.ClusterFailoverLevelAdmissionControlPolicy{FailoverLevel: ha.HostFailures}
	}
	config.DrsConfig.DefaultVmBehavior = types.DrsBehaviorManual
	if b.reactions.DRS.Enabled == topology.Yes {
		config.DrsConfig.DefaultVmBehavior = types.DrsBehaviorFullyAutomated
	}
}

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

// pool is a resource pool or vApp; obj is their common part.
type pool struct {
	ref  vc.Ref
	obj  *mo.ResourcePool
	vapp bool
	// vms is the pool's list, written when all VMs exist.
	vms []vc.Ref
}

// pools creates the resource pools and vApps of the datacenter without vcsim's calls, which write the name of every pool into one
// summary that all pools share.
func (b *builder) pools(dc *datacenter) error {
	for _, c := range dc.computes {
		if c.obj == nil || c.obj.ResourcePool == nil {
			return errors.New("compute resource without a resource pool")
		}
		root, ok := b.sim.Map.Get(*c.obj.ResourcePool).(*simulator.ResourcePool)
		if !ok {
			return fmt.Errorf("%s is no resource pool", c.obj.ResourcePool.Value)
		}
		ctx := b.fresh()
		ctx.WithLock(root, func() { outfit(&root.ResourcePool, "Resources", c.obj) })
		top := &pool{ref: root.Self, obj: &root.ResourcePool}
		c.byPath = map[string]*pool{"": top}
		b.below(dc, c, top, "", c.pools, c.vapps)
	}
	return nil
}

// below creates the pools and vApps below one, recursively.
func (b *builder) below(dc *datacenter, c *compute, parent *pool, path string, pools []topology.Pool, vapps []topology.VApp) {
	for i := range pools {
		child := &simulator.ResourcePool{}
		child.Self.Type = "ResourcePool"
		b.put(parent, child, &child.ResourcePool, pools[i].Name, c)
		p := &pool{ref: child.Self, obj: &child.ResourcePool}
		below := path + pools[i].Name
		c.byPath[below] = p
		b.note(c.path+"/Resources/"+below, child.Self, topology.Place{}, pools[i].Marks)
		b.below(dc, c, p, below+"/", pools[i].Pools, pools[i].VApps)
	}
	for i := range vapps {
		child := &simulator.VirtualApp{}
		child.Self.Type = "VirtualApp"
		child.ParentFolder = new(dc.obj.VmFolder)
		child.VAppConfig = &types.VAppConfigInfo{InstanceUuid: b.derive("vapp", c.path, path+vapps[i].Name)}
		b.put(parent, child, &child.ResourcePool, vapps[i].Name, c)
		child.Summary = &types.VirtualAppSummary{
			ResourcePoolSummary: *child.Summary.GetResourcePoolSummary(),
			Suspended:           new(false),
			VAppState:           types.VirtualAppVAppStateStopped,
			InstanceUuid:        child.VAppConfig.InstanceUuid,
		}
		below := path + vapps[i].Name
		c.byPath[below] = &pool{ref: child.Self, obj: &child.ResourcePool, vapp: true}
		b.note(c.path+"/Resources/"+below, child.Self, topology.Place{}, vapps[i].Marks)
	}
}

// put adds a pool below another one.
func (b *builder) put(parent *pool, child mo.Entity, obj *mo.ResourcePool, name string, c *compute) {
	outfit(obj, name, c.obj)
	b.sim.Map.NewEntity(child)
	obj.Config.Entity = new(child.Reference())
	obj.Parent = new(parent.ref)
	ctx := b.fresh()
	ctx.WithLock(parent.ref, func() {
		parent.obj.ResourcePool = append(parent.obj.ResourcePool, child.Reference())
		b.sim.Map.Put(child)
	})
}

// outfit sets a pool's properties, with the resources of the whole compute resource.
func outfit(p *mo.ResourcePool, name string, c *mo.ComputeResource) {
	s := c.Summary.GetComputeResourceSummary()
	usage := func(n int64) types.ResourcePoolResourceUsage {
		return types.ResourcePoolResourceUsage{UnreservedForPool: n, UnreservedForVm: n, MaxUsage: n}
	}
	p.Name = name
	p.Owner = c.Self
	p.Config = types.DefaultResourceConfigSpec()
	p.Runtime = types.ResourcePoolRuntimeInfo{
		Cpu:           usage(int64(s.TotalCpu)),
		Memory:        usage(s.TotalMemory),
		OverallStatus: types.ManagedEntityStatusGreen,
	}
	p.Summary = &types.ResourcePoolSummary{Name: name, Config: types.DefaultResourceConfigSpec(), Runtime: p.Runtime}
}
