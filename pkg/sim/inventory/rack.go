package inventory

import (
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// rack is the hardware that stands in a data center whether the vCenter knows it or not: hosts with their size, disks and
// exports that hosts see. No vCenter makes hardware; it adds hosts and makes datastores of disks.
type rack struct {
	mu sync.Mutex
	v  *topology.VCenter
	// serial is held while hosts get networks and datastores: objects come to be with the first and go with the last.
	serial sync.Mutex
}

// Rack puts up the hardware of a topology, in the place of what stood there. Hosts that clients add from then on have the
// size that it says, and see its datastores as disks and exports. What the vCenter has already stays as it is.
func (j *Joining) Rack(v *topology.VCenter) {
	j.rack.mu.Lock()
	defer j.rack.mu.Unlock()
	j.rack.v = v
}

func (r *rack) topology() *topology.VCenter {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.v
}

// host finds a host that stands there by its name, in a datacenter.
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

// derive makes the UUID that the builder would have made.
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

// datacenterOf is the datacenter that an object is in.
func datacenterOf(ctx *simulator.Context, ref vc.Ref) *simulator.Datacenter {
	r, ok := vc.Datacenter(ctx.Map, ref)
	if !ok {
		return nil
	}
	dc, _ := ctx.Map.Get(r).(*simulator.Datacenter)
	return dc
}

// welcome makes a host that was added what stands in the rack under its name, with networks of its own: it has those that
// it is installed with. The lock of what it was added to is held.
func (j *Joining) welcome(ctx *simulator.Context, ref vc.Ref) {
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

// installed is the network that a host is installed with.
const installed = "VM Network"

// union is what is in any list, once.
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

// addStandalone lets vcsim add a host, and makes it what it is to be.
func (j *Joining) addStandalone(ctx *simulator.Context, f *simulator.Folder, add func() vc.Ref) vc.Ref {
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
