package apply

import (
	"context"
	"fmt"

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
