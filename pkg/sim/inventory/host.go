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

// compute is a cluster or the compute resource of a standalone host.
type compute struct {
	obj   *mo.ComputeResource
	path  string
	hosts []*host
	pools []topology.Pool
	vapps []topology.VApp
	// byPath are its pools and vApps; "" is its root pool.
	byPath map[string]*pool
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
