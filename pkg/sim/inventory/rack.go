package inventory

import (
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/redirect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// rack is the hardware of a data center, known to the vCenter or not: hosts with their sizes, and the disks and exports that they
// see. A vCenter only adds hosts and creates datastores on disks.
type rack struct {
	mu sync.Mutex
	v  *topology.VCenter
	// serial is held while hosts get networks and datastores: the first one creates the object and the last one removes it.
	serial sync.Mutex
}

// Rack replaces the available hardware with that of a topology. Hosts that clients add later get its sizes, and see its
// datastores as disks and exports. Existing objects do not change.
func (j *HostAdder) Rack(v *topology.VCenter) {
	j.rack.mu.Lock()
	defer j.rack.mu.Unlock()
	j.rack.v = v
}

func (r *rack) topology() *topology.VCenter {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.v
}

// host returns a host of the rack by its name, in a datacenter.
func (r *rack) host(dc, name string) (*topology.Cluster, *topology.Host) {
	if d := r.datacenter(dc); d != nil {
		for cluster, h := range d.AllHosts() {
			if strings.EqualFold(h.Name, name) {
				return cluster, h
			}
		}
	}
	return nil, nil
}

func (r *rack) datacenter(name string) *topology.Datacenter {
	v := r.topology()
	if v == nil {
		return nil
	}
	for i := range v.Datacenters {
		if v.Datacenters[i].Name == name {
			return &v.Datacenters[i]
		}
	}
	return nil
}

// derive returns the UUID that the builder would use.
func (r *rack) derive(path ...string) string {
	v := r.topology()
	if v == nil {
		return uuid.NewString()
	}
	namespace, err := uuid.Parse(v.InstanceUUID)
	if err != nil {
		return uuid.NewString()
	}
	return uuid.NewSHA1(namespace, []byte(strings.Join(path, "\x00"))).String()
}

// sees lists the datastores whose disks or exports a host sees.
func (r *rack) sees(dc, name string) []*topology.Datastore {
	d := r.datacenter(dc)
	cluster, h := r.host(dc, name)
	if h == nil {
		return nil
	}
	in := ""
	if cluster != nil {
		in = cluster.Name
	}
	var all []*topology.Datastore
	for i := range d.Datastores {
		if d.Datastores[i].MountedBy(in, h.Name) {
			all = append(all, &d.Datastores[i])
		}
	}
	return all
}

// datacenterOf returns the datacenter of an object.
func datacenterOf(ctx *simulator.Context, ref vc.Ref) *simulator.Datacenter {
	r, ok := vc.Datacenter(ctx.Map, ref)
	if !ok {
		return nil
	}
	dc, _ := ctx.Map.Get(r).(*simulator.Datacenter)
	return dc
}

// welcome sets the hardware of an added host from the rack, with the network that every host is installed with. The caller holds
// the lock of the parent.
func (j *HostAdder) welcome(ctx *simulator.Context, ref vc.Ref) {
	h, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
	if !ok || h.Parent == nil {
		return
	}
	resource, ok := vc.Compute(ctx.Map.Get(*h.Parent))
	if !ok {
		return
	}
	dc := datacenterOf(ctx, ref)
	var networks []vc.Ref
	if dc != nil {
		for _, n := range dc.Network {
			if e := ctx.Map.Get(n); n.Type == "Network" && entityName(e) == installed {
				networks = append(networks, n)
			}
		}
	}
	ctx.WithLock(h, func() {
		if dc != nil {
			if _, spec := j.rack.host(dc.Name, h.Name); spec != nil {
				size(&h.HostSystem, spec, j.rack.derive("host", dc.Name, spec.Name))
			}
		}
		brand(&h.HostSystem, j.release)
		h.Network = networks
	})
	for _, n := range networks {
		listHost(ctx, n, ref)
	}
	c := &compute{obj: resource}
	for _, r := range resource.Host {
		if member, ok := ctx.Map.Get(r).(*simulator.HostSystem); ok {
			c.hosts = append(c.hosts, &host{obj: member})
		}
	}
	ctx.WithLock(resource.Self, func() {
		total(c)
		resource.Network = union(resource.Network, networks)
	})
}

// installed is the network of a newly installed host.
const installed = "VM Network"

// union returns the elements of all lists without duplicates.
func union(lists ...[]vc.Ref) []vc.Ref {
	var all []vc.Ref
	seen := make(map[vc.Ref]bool)
	for _, list := range lists {
		for _, r := range list {
			if !seen[r] {
				seen[r] = true
				all = append(all, r)
			}
		}
	}
	return all
}

func minus(list []vc.Ref, ref vc.Ref) []vc.Ref {
	var rest []vc.Ref
	for _, r := range list {
		if r != ref {
			rest = append(rest, r)
		}
	}
	return rest
}

// addStandalone lets vcsim add a host, and completes it.
func (j *HostAdder) addStandalone(ctx *simulator.Context, f *simulator.Folder, add func() vc.Ref) vc.Ref {
	task := simulator.CreateTask(f, "addStandaloneHost", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		made, fault := vc.Await(ctx, add())
		if fault != nil {
			return nil, fault
		}
		ref, _ := made.(vc.Ref)
		j.welcome(ctx, ref)
		if h, ok := ctx.Map.Get(ref).(*simulator.HostSystem); ok && h.Parent != nil {
			if resource, ok := vc.Compute(ctx.Map.Get(*h.Parent)); ok {
				describe(ctx, resource, j.release)
			}
		}
		return made, nil
	})
	return task.Run(ctx)
}

// ReconfigureDvsTask changes a switch. vcsim lists port groups once for every host in the networks of a cluster, and does not
// remove them from removed hosts.
func (j *HostAdder) ReconfigureDvsTask(ctx *simulator.Context, req *types.ReconfigureDvs_Task) soap.HasFault {
	ref, fault := j.onSwitch(ctx, req.This, "reconfigureDvs", func(dvs *simulator.DistributedVirtualSwitch) vc.Ref {
		return dvs.ReconfigureDvsTask(ctx, req).(*methods.ReconfigureDvs_TaskBody).Res.Returnval
	})
	if fault != nil {
		return &methods.ReconfigureDvs_TaskBody{Fault_: fault}
	}
	return &methods.ReconfigureDvs_TaskBody{Res: &types.ReconfigureDvs_TaskResponse{Returnval: ref}}
}

// AddDVPortgroupTask adds port groups to a switch, on all its hosts.
func (j *HostAdder) AddDVPortgroupTask(ctx *simulator.Context, req *types.AddDVPortgroup_Task) soap.HasFault {
	ref, fault := j.onSwitch(ctx, req.This, "addDVPortgroup", func(dvs *simulator.DistributedVirtualSwitch) vc.Ref {
		return dvs.AddDVPortgroupTask(ctx, req).(*methods.AddDVPortgroup_TaskBody).Res.Returnval
	})
	if fault != nil {
		return &methods.AddDVPortgroup_TaskBody{Fault_: fault}
	}
	return &methods.AddDVPortgroup_TaskBody{Res: &types.AddDVPortgroup_TaskResponse{Returnval: ref}}
}

// onSwitch runs a change of a switch by vcsim in a task, and then corrects all lists.
func (j *HostAdder) onSwitch(ctx *simulator.Context, this vc.Ref, name string, do func(*simulator.DistributedVirtualSwitch) vc.Ref) (vc.Ref, *soap.Fault) {
	dvs, ok := ctx.Map.Get(this).(*simulator.DistributedVirtualSwitch)
	if !ok {
		return vc.Ref{}, simulator.Fault("", &types.ManagedObjectNotFound{Obj: this})
	}
	task := simulator.CreateTask(dvs, name, func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		before := slices.Clone(dvs.Summary.HostMember)
		made, fault := vc.Await(ctx, do(dvs))
		if fault != nil {
			return nil, fault
		}
		relist(ctx, dvs, before)
		return made, nil
	})
	return task.Run(ctx), nil
}

// relist updates members and port groups of a switch, which is locked, in all lists.
func relist(ctx *simulator.Context, dvs *simulator.DistributedVirtualSwitch, before []vc.Ref) {
	members, groups := union(dvs.Summary.HostMember), union(dvs.Portgroup)
	dvs.Summary.NumHosts = int32(len(members))
	if c := dvs.Config.GetDVSConfigInfo(); c != nil {
		c.Host = nil
		for _, ref := range members {
			c.Host = append(c.Host, types.DistributedVirtualSwitchHostMember{
				Config: types.DistributedVirtualSwitchHostMemberConfigInfo{
					Host: new(ref), MaxProxySwitchPorts: 128, Backing: new(types.DistributedVirtualSwitchHostMemberPnicBacking),
				},
				ProductInfo: dvs.Summary.ProductInfo,
				Status:      string(types.DistributedVirtualSwitchHostMemberHostComponentStateUp),
			})
		}
	}
	for _, ref := range groups {
		if g, ok := ctx.Map.Get(ref).(*simulator.DistributedVirtualPortgroup); ok {
			relink(ctx, g, "host", func() []vc.Ref { return slices.Clone(members) })
		}
	}
	computes := map[vc.Ref]bool{} // whether a host is a member
	for _, ref := range union(before, members) {
		h, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
		if !ok || h.Parent == nil {
			continue
		}
		member := slices.Contains(members, ref)
		computes[*h.Parent] = computes[*h.Parent] || member
		relink(ctx, h, "network", func() []vc.Ref { return with(h.Network, groups, member) })
	}
	for ref, member := range computes {
		obj := ctx.Map.Get(ref)
		c, ok := vc.Compute(obj)
		if !ok {
			continue
		}
		for _, h := range c.Host {
			member = member || slices.Contains(members, h)
		}
		relink(ctx, obj, "network", func() []vc.Ref { return with(c.Network, groups, member) })
	}
}

// with returns a list with the others added or removed.
func with(list, others []vc.Ref, in bool) []vc.Ref {
	if in {
		return union(list, others)
	}
	return slices.DeleteFunc(union(list), func(r vc.Ref) bool { return slices.Contains(others, r) })
}

// HostAdder lets clients add hosts with networks and datastores. vcsim's AddHost_Task ends the process when the cluster has a host
// with a version that govmomi does not know (such as 8.0.3), and gives the new host version 6.5.
//
// The available hosts, disks and exports are those of the rack ([HostAdder.Rack]).
//
// Joining receives calls on clusters, folders and parts of hosts: call its Redirect from the registry's call hook. Create one
// with [NewHostAdder] before the vCenter serves.
type HostAdder struct {
	redirect.Receiver
	release release
	rack    rack
}

// NewHostAdder returns a Joining for a vCenter of that version and registers it.
func NewHostAdder(base *simulator.Context, version string) *HostAdder {
	j := &HostAdder{
		Receiver: redirect.Receiver{
			Self: vc.Ref{Type: "SandboxJoining", Value: "sandbox-joining"},
			Methods: map[string][]string{
				"ClusterComputeResource": {"AddHost_Task"},
				"Folder":                 {"AddStandaloneHost_Task"},
				"HostNetworkSystem":      {"AddPortGroup", "RemovePortGroup", "AddVirtualSwitch", "RemoveVirtualSwitch"},
				"HostDatastoreSystem": {
					"QueryAvailableDisksForVmfs", "QueryVmfsDatastoreCreateOptions", "CreateVmfsDatastore", "CreateNasDatastore",
				},
				"HostStorageSystem":               {"RescanVmfs"},
				"DistributedVirtualSwitch":        {"ReconfigureDvs_Task", "AddDVPortgroup_Task"},
				"VmwareDistributedVirtualSwitch":  {"ReconfigureDvs_Task", "AddDVPortgroup_Task"},
				"DistributedVirtualSwitchManager": {"QueryDvsByUuid"},
			},
		},
		release: newRelease(version),
	}
	base.Map.Put(j)
	return j
}

// AddHostTask adds a host, and gives it the vCenter's version.
func (j *HostAdder) AddHostTask(ctx *simulator.Context, req *types.AddHost_Task) soap.HasFault {
	body := new(methods.AddHost_TaskBody)
	cluster, ok := ctx.Map.Get(req.This).(*simulator.ClusterComputeResource)
	if !ok {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})
		return body
	}
	// vcsim copies the host with the user's name, if one exists, with any version.
	own := *req
	own.Spec.UserName = ""
	req = &own
	task := simulator.CreateTask(cluster, "addHost", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		forgetDescriptors(ctx, &cluster.ComputeResource)
		defer describe(ctx, &cluster.ComputeResource, j.release)
		inner := cluster.AddHostTask(ctx, req).(*methods.AddHost_TaskBody).Res.Returnval
		made, fault := vc.Await(ctx, inner)
		if fault != nil {
			return nil, fault
		}
		if ref, ok := made.(vc.Ref); ok {
			j.welcome(ctx, ref)
		}
		return made, nil
	})
	body.Res = &types.AddHost_TaskResponse{Returnval: task.Run(ctx)}
	return body
}
