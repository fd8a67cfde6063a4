package inventory

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// connect makes the datacenter's networks and gives them to every host.
func (b *builder) connect(dc *datacenter) error {
	var all []vc.Ref
	for i, spec := range dc.Networks {
		var err error
		if i == 0 {
			err = b.firstNetwork(dc, spec.Name)
		} else {
			err = b.network(dc, spec.Name)
		}
		if err != nil {
			return fmt.Errorf("network %q: %w", spec.Name, err)
		}
		if ref, ok := dc.networks[spec.Name]; ok {
			all = append(all, ref)
		}
	}
	// Copies for each: vcsim lets hosts and clusters share a slice of the datacenter's list.
	seen := make(map[*mo.ComputeResource]bool)
	for _, h := range dc.hosts {
		ctx := b.fresh()
		ctx.WithLock(h.obj, func() { h.obj.Network = append([]vc.Ref(nil), all...) })
		if !seen[h.compute] {
			seen[h.compute] = true
			ctx.WithLock(*h.obj.Parent, func() { h.compute.Network = append([]vc.Ref(nil), all...) })
		}
	}
	return nil
}

// firstNetwork renames the "VM Network" that vcsim gives every datacenter.
func (b *builder) firstNetwork(dc *datacenter, name string) error {
	if len(dc.obj.Network) == 0 {
		return fmt.Errorf("datacenter has no default network")
	}
	ref := dc.obj.Network[0]
	n, ok := b.sim.Map.Get(ref).(*mo.Network)
	if !ok {
		return fmt.Errorf("default network is a %s", ref.Type)
	}
	ctx := b.fresh()
	ctx.WithLock(n, func() {
		n.Name = name
		n.Entity().Name = name
		n.Summary.GetNetworkSummary().Name = name
	})
	dc.networks[name] = ref
	return nil
}

// network adds a port group to one host: vcsim makes one network of it and refuses the same name on a second host.
func (b *builder) network(dc *datacenter, name string) error {
	if len(dc.hosts) == 0 {
		return nil
	}
	system := b.sim.Map.Get(*dc.hosts[0].obj.ConfigManager.NetworkSystem).(*simulator.HostNetworkSystem)
	ctx := b.fresh()
	var body *methods.AddPortGroupBody
	ctx.WithLock(system, func() {
		body = system.AddPortGroup(ctx, &types.AddPortGroup{
			This: system.Self, Portgrp: types.HostPortGroupSpec{Name: name, VswitchName: "vSwitch0"},
		}).(*methods.AddPortGroupBody)
	})
	if err := vc.Err(body); err != nil {
		return err
	}
	e := b.sim.Map.FindByName(name, dc.obj.Network)
	if e == nil {
		return fmt.Errorf("not in the datacenter after it was added")
	}
	dc.networks[name] = e.Reference()
	return nil
}
