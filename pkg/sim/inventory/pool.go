package inventory

import (
	"errors"
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

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
