package inspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// inspectVM reads a VM and, if it is one, its Node.
func (i *Inspector) inspectVM(_ context.Context, r api.Subject) ([]part, error) {
	v, err := world.Find(i.World().VMs(), api.VMRequest{VM: r.Name, VCenter: r.VCenter})
	if err != nil {
		return nil, err
	}
	parts := []part{i.vmPart(v)}
	if node := i.NodeOf(v.VCenter, v.Name); node != "" && i.Kubernetes() != nil {
		parts = append(parts, i.nodePart(node))
	}
	return parts, nil
}

// inspectNode reads a Node and the VM that it is.
func (i *Inspector) inspectNode(_ context.Context, r api.Subject) ([]part, error) {
	name, err := i.findNode(r.Name)
	if err != nil {
		return nil, err
	}
	parts := []part{i.nodePart(name)}
	vcenter, vm := "", ""
	for _, n := range i.World().Nodes() {
		if n.Name == name {
			vcenter, vm = n.VCenter, n.VM
		}
	}
	if vm == "" {
		vcenter, vm = i.VMOf(name)
	}
	for _, v := range i.World().VMs() {
		if v.VCenter == vcenter && v.Name == vm {
			return append(parts, i.vmPart(v)), nil
		}
	}
	return append(parts, part{"VM " + vm, func(context.Context) (any, error) {
		return nil, notThere("VM of it in any vCenter")
	}}), nil
}

func (i *Inspector) nodePart(name string) part {
	return part{"Node " + name, func(ctx context.Context) (any, error) {
		n, err := cluster{i.Kubernetes()}.Node(ctx, name)
		if err == nil && n == nil {
			err = notThere("Node of that name")
		}
		return n, err
	}}
}

// inspected are the properties of a VM that are shown.
var inspected = []string{
	"name", "parent", "resourcePool", "guestHeartbeatStatus", "overallStatus", "runtime", "guest", "summary.config", "datastore", "network",
	"config.uuid", "config.instanceUuid", "config.template", "config.version", "config.guestId", "config.guestFullName", "config.annotation",
	"config.hardware", "config.extraConfig", "config.files",
}

func (i *Inspector) vmPart(v world.VM) part {
	a := i.reader(v.VCenter)
	return part{fmt.Sprintf("VM %s of vCenter %s", v.Name, v.VCenter), func(ctx context.Context) (any, error) {
		var vm mo.VirtualMachine
		if err := a.read(ctx, v.Ref, inspected, &vm); err != nil {
			return nil, err
		}
		entities := map[ref]entity{}
		m, err := a.machine(ctx, v.Ref, entities)
		if err != nil {
			return nil, err
		}
		list := []explain.Machine{m}
		a.tag(ctx, list, entities)
		out := map[string]any{
			"name": vm.Name, "moref": v.Ref.String(), "path": m.Path, "runtime": tree(vm.Runtime), "guestHeartbeatStatus": vm.GuestHeartbeatStatus,
			"overallStatus": vm.OverallStatus, "summary": map[string]any{"config": tree(vm.Summary.Config)}, "tags": tagged(list[0]),
			"datastore": refs(vm.Datastore), "network": refs(vm.Network), "parents": map[string]any{"host": above(m.FromHost), "resourcePool": above(m.FromPool)},
		}
		if vm.Guest != nil {
			out["guest"] = tree(vm.Guest)
		}
		if c := vm.Config; c != nil {
			out["config"] = map[string]any{
				"uuid": c.Uuid, "instanceUuid": c.InstanceUuid, "template": c.Template, "version": c.Version, "guestId": c.GuestId, "guestFullName": c.GuestFullName,
				"annotation": c.Annotation, "files": tree(c.Files), "extraConfig": extra(c.ExtraConfig),
				"hardware": map[string]any{"numCPU": c.Hardware.NumCPU, "memoryMB": c.Hardware.MemoryMB, "device": devices(c.Hardware.Device)},
			}
		}
		return bare(out), nil
	}}
}

// refs names managed objects.
func refs(list []ref) (names []any) {
	for _, r := range list {
		names = append(names, r.String())
	}
	return names
}

// above is a way up as a path, the root first.
func above(walk []explain.Object) string {
	path, _ := paths(walk)
	return path
}

// tagged lists the tags of a VM and of what is above it.
func tagged(m explain.Machine) any {
	if m.TagsErr != nil {
		return "cannot be read: " + m.TagsErr.Error()
	}
	var list []any
	seen := map[string]bool{}
	for _, walk := range [][]explain.Object{m.FromVM, m.FromHost, m.FromPool} {
		for _, o := range walk {
			if seen[o.Ref] {
				continue
			}
			seen[o.Ref] = true
			for _, t := range o.Tags {
				list = append(list, map[string]any{"category": t.Category, "tag": t.Name, "on": o.Type + " " + o.Name})
			}
		}
	}
	return list
}

// extra are the advanced settings of a VM, without what may be secret.
func extra(list []types.BaseOptionValue) map[string]any {
	out := map[string]any{}
	for _, o := range list {
		v := o.GetOptionValue()
		if out[v.Key] = fmt.Sprint(v.Value); secretive(v.Key) {
			out[v.Key] = "(hidden)"
		}
	}
	return out
}

// devices are virtual devices in short.
func devices(list []types.BaseVirtualDevice) (all []any) {
	for _, d := range list {
		v := d.GetVirtualDevice()
		row := map[string]any{"type": strings.TrimPrefix(fmt.Sprintf("%T", d), "*types."), "key": v.Key}
		if v.DeviceInfo != nil {
			row["label"], row["summary"] = v.DeviceInfo.GetDescription().Label, v.DeviceInfo.GetDescription().Summary
		}
		if v.ControllerKey != 0 {
			row["controllerKey"] = v.ControllerKey
		}
		if v.UnitNumber != nil {
			row["unitNumber"] = *v.UnitNumber
		}
		switch d := d.(type) {
		case *types.VirtualDisk:
			row["capacityInBytes"], row["backing"] = d.CapacityInBytes, tree(d.Backing)
			if d.VDiskId != nil {
				row["vDiskId"] = d.VDiskId.Id
			}
		case types.BaseVirtualEthernetCard:
			row["macAddress"], row["backing"] = d.GetVirtualEthernetCard().MacAddress, tree(v.Backing)
		}
		all = append(all, row)
	}
	return all
}
