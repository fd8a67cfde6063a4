package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// missing plans the creation of an object.
func (p *planner) missing(n *named) {
	switch n.kind {
	case KindFolder:
		p.create(n, "", func(ctx context.Context, c *vim25.Client) (ref, error) {
			in, err := p.find(parent(n.key))
			if err != nil {
				return ref{}, err
			}
			f, err := object.NewFolder(c, in).CreateFolder(ctx, base(n.key))
			if err != nil {
				return ref{}, err
			}
			return f.Reference(), nil
		})
	case KindDatacenter:
		p.create(n, "", func(ctx context.Context, c *vim25.Client) (ref, error) { return p.createDatacenter(ctx, c, n) })
	case KindCluster:
		p.create(n, "", func(ctx context.Context, c *vim25.Client) (ref, error) { return p.createCluster(ctx, c, n) })
	case KindHost:
		p.create(n, fmt.Sprintf("%d CPUs, %s", n.host.CPUs, n.host.Memory), func(ctx context.Context, c *vim25.Client) (ref, error) {
			return p.createHost(ctx, c, n)
		})
	case KindPool:
		p.create(n, "", func(ctx context.Context, c *vim25.Client) (ref, error) {
			in, err := p.find(parent(n.key))
			if err != nil {
				return ref{}, err
			}
			pool, err := object.NewResourcePool(c, in).Create(ctx, base(n.key), types.DefaultResourceConfigSpec())
			if err != nil {
				return ref{}, err
			}
			return pool.Reference(), nil
		})
	case KindVApp:
		p.create(n, "", func(ctx context.Context, c *vim25.Client) (ref, error) {
			in, err := p.find(parent(n.key))
			if err != nil {
				return ref{}, err
			}
			folder, err := p.find(dcKey(n.dc) + "/vm")
			if err != nil {
				return ref{}, err
			}
			app, err := object.NewResourcePool(c, in).CreateVApp(ctx, base(n.key), types.DefaultResourceConfigSpec(), types.VAppConfigSpec{}, object.NewFolder(c, folder))
			if err != nil {
				return ref{}, err
			}
			return app.Reference(), nil
		})
	case KindNetwork:
		p.create(n, "a port group on every host", func(ctx context.Context, c *vim25.Client) (ref, error) { return p.createNetwork(ctx, c, n) })
	case KindSwitch:
		p.create(n, fmt.Sprintf("%d hosts", len(p.members(n))), func(ctx context.Context, c *vim25.Client) (ref, error) { return p.createSwitch(ctx, c, n) })
	case KindPortGroup:
		p.create(n, vlanText(n.portGroup.VLAN), func(ctx context.Context, c *vim25.Client) (ref, error) { return p.createPortGroup(ctx, c, n) })
	case KindDatastore:
		p.missingDatastore(n)
	}
}

func (p *planner) createDatacenter(ctx context.Context, c *vim25.Client, n *named) (ref, error) {
	in, err := p.find(folderKey(n.dc.Folder))
	if err != nil {
		return ref{}, err
	}
	dc, err := object.NewFolder(c, in).CreateDatacenter(ctx, n.dc.Name)
	if err != nil {
		return ref{}, err
	}
	for name, property := range map[string]string{"vm": "vmFolder", "host": "hostFolder", "network": "networkFolder", "datastore": "datastoreFolder"} {
		f, err := reload[ref](ctx, c, dc.Reference(), property)
		if err != nil {
			return ref{}, err
		}
		p.made(KindFolder, n.key+"/"+name, f)
	}
	return dc.Reference(), nil
}

// folderKey returns the key of a datacenter folder.
func folderKey(path string) string {
	if path == "" {
		return ""
	}
	return "/" + path
}

// createCluster creates a cluster with DRS, which resource pools need; unless requested, DRS moves no VM.
func (p *planner) createCluster(ctx context.Context, c *vim25.Client, n *named) (ref, error) {
	in, err := p.find(dcKey(n.dc) + "/host")
	if err != nil {
		return ref{}, err
	}
	reactions := p.want.Reactions
	ha := reactions.HA
	das := &types.ClusterDasConfigInfo{
		Enabled:                 new(ha.Enabled == topology.Yes),
		AdmissionControlEnabled: new(ha.Enabled == topology.Yes && ha.HostFailures > 0),
	}
	if ha.HostFailures > 0 {
		das.FailoverLevel = ha.HostFailures
		das.AdmissionControlPolicy = &types.ClusterFailoverLevelAdmissionControlPolicy{FailoverLevel: ha.HostFailures}
	}
	drs := &types.ClusterDrsConfigInfo{Enabled: new(true), DefaultVmBehavior: types.DrsBehaviorManual}
	if reactions.DRS.Enabled == topology.Yes {
		drs.DefaultVmBehavior = types.DrsBehaviorFullyAutomated
	}
	cluster, err := object.NewFolder(c, in).CreateCluster(ctx, n.cluster.Name, types.ClusterConfigSpecEx{DasConfig: das, DrsConfig: drs})
	if err != nil {
		return ref{}, err
	}
	pool, err := reload[ref](ctx, c, cluster.Reference(), "resourcePool")
	if err != nil {
		return ref{}, err
	}
	p.made(KindPool, n.key+"/Resources", pool)
	return cluster.Reference(), nil
}

// createHost adds a host, with the existing networks and datastores of its datacenter that it needs.
func (p *planner) createHost(ctx context.Context, c *vim25.Client, n *named) (ref, error) {
	spec := types.HostConnectSpec{HostName: n.host.Name, Force: true}
	var host ref
	if n.cluster != nil {
		cluster, err := p.find(parent(n.key))
		if err != nil {
			return ref{}, err
		}
		started, err := methods.AddHost_Task(ctx, c, &types.AddHost_Task{This: cluster, Spec: spec, AsConnected: true})
		result, err := task(ctx, c, started, func(r *types.AddHost_TaskResponse) ref { return r.Returnval }, err)
		if err != nil {
			return ref{}, err
		}
		host, _ = result.(ref)
	} else {
		folder, err := p.find(dcKey(n.dc) + "/host")
		if err != nil {
			return ref{}, err
		}
		started, err := methods.AddStandaloneHost_Task(ctx, c, &types.AddStandaloneHost_Task{This: folder, Spec: spec, AddConnected: true})
		result, err := task(ctx, c, started, func(r *types.AddStandaloneHost_TaskResponse) ref { return r.Returnval }, err)
		if err != nil {
			return ref{}, err
		}
		compute, _ := result.(ref)
		// API: the task's result is the compute resource; vcsim's is the host.
		if host = compute; compute.Type != "HostSystem" {
			hosts, err := reload[types.ArrayOfManagedObjectReference](ctx, c, compute, "host")
			if err != nil {
				return ref{}, err
			}
			if len(hosts.ManagedObjectReference) == 0 {
				return ref{}, fmt.Errorf("%s has no host", compute)
			}
			host = hosts.ManagedObjectReference[0]
		} else if compute, err = reload[ref](ctx, c, host, "parent"); err != nil {
			return ref{}, err
		}
		pool, err := reload[ref](ctx, c, compute, "resourcePool")
		if err != nil {
			return ref{}, err
		}
		p.made(kindOf(compute), parent(n.key), compute)
		p.made(KindPool, parent(n.key)+"/Resources", pool)
	}
	return host, p.equipHost(ctx, c, n, host)
}

// removals plans the removals, contents first.
func (p *planner) removals(want []*named) {
	for _, later := range p.late {
		later()
	}
	gone := p.going()
	for _, kind := range []Kind{KindVM, KindVApp, KindPool, KindDatastore, KindPortGroup, KindSwitch, KindNetwork, KindHost, KindCluster} {
		for _, o := range gone {
			if o.kind == kind {
				p.remove(o)
			}
		}
	}
	// Folders of VMs are in datacenters, and those in folders; the deepest first.
	for _, inside := range []bool{true, false} {
		if !inside {
			for _, o := range gone {
				if o.kind == KindDatacenter {
					p.remove(o)
				}
			}
		}
		for _, o := range slices.Backward(gone) {
			if o.kind == KindFolder && strings.HasPrefix(o.key, "//") == inside {
				p.remove(o)
			}
		}
	}
	p.removePolicies()
	p.removeTags(want)
	p.removeRoles()
}

// going returns the objects that only the previous topology had or, with Prune, all that the topology does not name; containers
// come first. Unmanaged objects in them prevent the plan.
func (p *planner) going() []*entity {
	var gone []*entity
	for key, o := range p.byKey {
		if p.claimed[o.ref] || p.fixed(o) || o.ref == p.root {
			continue
		}
		if _, had := p.before[key]; had || p.opts.Prune {
			gone = append(gone, o)
			p.leaves[o.ref] = true
		}
	}
	for _, o := range p.vms {
		if !p.claimed[o.ref] && (p.hadVMs[o.ref] || p.opts.Prune) {
			gone = append(gone, o)
			p.leaves[o.ref] = true
		}
	}
	slices.SortFunc(gone, func(a, b *entity) int {
		if byKey := strings.Compare(a.key, b.key); byKey != 0 {
			return byKey
		}
		return strings.Compare(a.ref.Value, b.ref.Value)
	})
	for _, o := range p.vms {
		if p.claimed[o.ref] || p.leaves[o.ref] {
			continue
		}
		for _, holder := range []ref{get[ref](o, "runtime.host"), get[ref](o, "parent")} {
			if p.leaves[holder] {
				p.cannot(p.path(p.all[holder]), "is to go, and holds VM %s, which the topology did not make: move it, or --prune", o.name)
			}
		}
		for _, ds := range get[types.ArrayOfManagedObjectReference](o, "datastore").ManagedObjectReference {
			if p.leaves[ds] {
				p.cannot(p.path(p.all[ds]), "is to go, and holds files of VM %s, which the topology did not make: move it, or --prune", o.name)
			}
		}
	}
	return gone
}

// fixed reports whether an object is created and removed with another one.
func (p *planner) fixed(o *entity) bool {
	up := p.all[get[ref](o, "parent")]
	switch o.kind {
	case KindFolder:
		return up != nil && up.kind == KindDatacenter
	case KindPool:
		return up == nil || up.kind != KindPool
	case KindPortGroup:
		return strings.Contains(o.name, "-DVUplinks")
	case KindNetwork:
		// Every ESXi host is installed with this port group.
		return o.name == "VM Network"
	case KindHost, KindDatacenter, KindCluster, KindDatastore, KindSwitch, KindVApp, KindVM:
		return false
	}
	return true // the compute resource of a standalone host, and unknown types
}

func (p *planner) remove(o *entity) {
	what, off := "", false
	switch o.kind {
	case KindVM:
		if off = running(o); off {
			what = "power off first"
		}
	case KindHost:
		what = "maintenance mode first"
	}
	s := p.step(Remove, o.kind, p.path(o), what, func(ctx context.Context, c *vim25.Client) error { return p.destroy(ctx, c, o) })
	s.PowerOff = off
}

func (p *planner) destroy(ctx context.Context, c *vim25.Client, o *entity) error {
	target := o.ref
	switch o.kind {
	case KindVM:
		if err := powerOff(ctx, c, o.ref); err != nil {
			return err
		}
	case KindNetwork:
		return p.removeNetwork(ctx, c, o)
	case KindHost:
		state, err := reload[types.HostSystemConnectionState](ctx, c, o.ref, "runtime.connectionState")
		if err != nil {
			return err
		}
		if in, err := reload[bool](ctx, c, o.ref, "runtime.inMaintenanceMode"); err != nil {
			return err
		} else if !in && state == types.HostSystemConnectionStateConnected {
			t, err := object.NewHostSystem(c, o.ref).EnterMaintenanceMode(ctx, 0, true, nil)
			if err := wait(ctx, t, err); err != nil {
				return err
			}
		}
		// A standalone host is removed with its compute resource (API: HostSystem.Destroy is for hosts of clusters).
		if up := p.all[get[ref](o, "parent")]; up != nil && up.ref.Type == "ComputeResource" {
			target = up.ref
		}
	}
	started, err := methods.Destroy_Task(ctx, c, &types.Destroy_Task{This: target})
	_, err = task(ctx, c, started, func(r *types.Destroy_TaskResponse) ref { return r.Returnval }, err)
	return err
}

// removeNetwork removes the port group of a standard network from every host; the last one removes the network.
func (p *planner) removeNetwork(ctx context.Context, c *vim25.Client, o *entity) error {
	dc, _, _ := strings.Cut(strings.TrimPrefix(o.key, "//"), "/")
	for key, host := range p.byKey {
		if host.kind != KindHost || !strings.HasPrefix(key, "//"+dc+"/") {
			continue
		}
		system, err := reload[ref](ctx, c, host.ref, "configManager.networkSystem")
		if err != nil {
			return err
		}
		err = object.NewHostNetworkSystem(c, system).RemovePortGroup(ctx, o.name)
		if err != nil && !fault.Is(err, new(types.NotFound)) {
			return err
		}
	}
	return nil
}
