package record

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

type ref = types.ManagedObjectReference

// found is what was read of one vCenter.
type found struct {
	name       string
	about      types.AboutInfo
	inv        *inventory.Inventory
	machines   map[ref]mo.VirtualMachine
	diskUUID   map[ref]bool               // VMs with disk.enableUUID
	computes   map[ref]mo.ComputeResource // compute resources of the selected VMs
	hosts      map[ref]mo.HostSystem      // all hosts of those
	datastores map[ref]mo.Datastore       // all that those mount
	groups     map[ref]mo.DistributedVirtualPortgroup
}

// gather reads the selected VMs, and then what belongs to them.
func gather(ctx context.Context, c *vcenter.Connection, o Options) (*found, error) {
	f := &found{name: c.VCenter.Name}
	err := c.Do(ctx, func(_ context.Context, vim *vim25.Client) error {
		f.about = vim.ServiceContent.About
		return nil
	})
	if err != nil {
		return nil, err
	}
	o.OnStep(f.name, "inventory")
	if f.inv, err = inventory.Read(ctx, c, o.Selection, o.Categories); err != nil || len(f.inv.VMs) == 0 {
		return f, err
	}
	var vms, computes, hosts, datastores, groups []ref
	for _, vm := range f.inv.VMs {
		vms = append(vms, vm.Ref)
		if compute := f.inv.Tree.Above(vm.HostRef, "ComputeResource", "ClusterComputeResource"); compute != nil {
			computes = append(computes, compute.Ref)
		}
	}
	o.OnStep(f.name, fmt.Sprintf("%d VMs", len(vms)))
	f.machines, err = read[mo.VirtualMachine](ctx, c, vms,
		"config.hardware", "config.guestId", "config.files.vmPathName", "guest.net", "network")
	if err != nil {
		return nil, err
	}
	o.OnStep(f.name, "hosts")
	if f.diskUUID, err = diskUUIDs(ctx, c, f.inv.VMs); err != nil {
		return nil, err
	}
	if f.computes, err = read[mo.ComputeResource](ctx, c, computes, "host"); err != nil {
		return nil, err
	}
	for _, compute := range f.computes {
		hosts = append(hosts, compute.Host...)
	}
	f.hosts, err = read[mo.HostSystem](ctx, c, hosts,
		"summary.hardware", "datastore", "runtime.connectionState", "runtime.inMaintenanceMode")
	if err != nil {
		return nil, err
	}
	for _, host := range f.hosts {
		datastores = append(datastores, host.Datastore...)
	}
	o.OnStep(f.name, "datastores and networks")
	if f.datastores, err = read[mo.Datastore](ctx, c, datastores, "summary"); err != nil {
		return nil, err
	}
	for _, m := range f.machines {
		for _, network := range m.Network {
			if network.Type == "DistributedVirtualPortgroup" {
				groups = append(groups, network)
			}
		}
	}
	f.groups, err = read[mo.DistributedVirtualPortgroup](ctx, c, groups, "config")
	return f, err
}

// diskUUIDs returns the VMs with disk.enableUUID: by the flag that a vCenter derives from it, or else by the setting.
func diskUUIDs(ctx context.Context, c *vcenter.Connection, vms []inventory.VM) (map[ref]bool, error) {
	all := map[ref]bool{}
	var unsaid []ref
	for _, vm := range vms {
		if all[vm.Ref] = vm.DiskUUID; !vm.DiskUUID {
			unsaid = append(unsaid, vm.Ref)
		}
	}
	found, err := read[mo.VirtualMachine](ctx, c, unsaid, "config.extraConfig")
	if err != nil {
		return nil, err
	}
	for one, vm := range found {
		if vm.Config == nil {
			continue
		}
		for _, option := range vm.Config.ExtraConfig {
			o := option.GetOptionValue()
			if value, _ := o.Value.(string); strings.EqualFold(o.Key, "disk.enableUUID") {
				all[one] = strings.EqualFold(value, "true") || value == "1"
			}
		}
	}
	return all, nil
}

// read reads properties of objects, a few hundred a call, without removed ones.
func read[T any](ctx context.Context, c *vcenter.Connection, refs []ref, properties ...string) (map[ref]T, error) {
	slices.SortFunc(refs, func(a, b ref) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value)) })
	all := map[ref]T{}
	for some := range slices.Chunk(slices.Compact(refs), 500) {
		var filter types.PropertyFilterSpec
		kinds := map[string]bool{}
		for _, one := range some {
			filter.ObjectSet = append(filter.ObjectSet, types.ObjectSpec{Obj: one})
			if !kinds[one.Type] {
				kinds[one.Type] = true
				filter.PropSet = append(filter.PropSet, types.PropertySpec{Type: one.Type, PathSet: properties})
			}
		}
		filter.ReportMissingObjectsInResults = new(true)
		content, err := inventory.Retrieve(ctx, c, filter)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", some[0].Type, err)
		}
		for _, one := range content {
			var objects []T
			if err := mo.LoadObjectContent([]types.ObjectContent{one}, &objects); err != nil {
				return nil, fmt.Errorf("vcenter %q: read %s: %w", c.VCenter.Name, one.Obj, err)
			}
			if len(objects) == 1 {
				all[one.Obj] = objects[0]
			}
		}
	}
	return all, nil
}
