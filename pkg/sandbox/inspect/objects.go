package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// inspectVM reads a VM and, if it is one, its Node.
func (i *Inspector) inspectVM(ctx context.Context, r api.Subject) ([]part, error) {
	v, err := world.Find(i.World().VMs(), api.VMRequest{VM: r.Name, VCenter: r.VCenter})
	if err != nil {
		return nil, err
	}
	parts := append([]part{i.vmPart(v)}, i.machineParts(ctx, func(m api.VirtualMachine) bool { return m.VCenter == v.VCenter && m.VM == v.Name })...)
	if node := i.NodeOf(v.VCenter, v.Name); node != "" && i.Kubernetes() != nil {
		parts = append(parts, i.nodePart(node))
	}
	return parts, nil
}

// inspectNode reads a Node and the VM that it is, in a guest cluster with its VirtualMachine.
func (i *Inspector) inspectNode(ctx context.Context, r api.Subject) ([]part, error) {
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
	parts = append(parts, i.machineParts(ctx, func(m api.VirtualMachine) bool { return m.Node == name })...)
	for _, v := range i.World().VMs() {
		if v.VCenter == vcenter && v.Name == vm {
			return append(parts, i.vmPart(v)), nil
		}
	}
	return append(parts, part{"VM " + vm, func(context.Context) (any, error) {
		return nil, notThere("VM of it in any vCenter")
	}}), nil
}

// machineParts returns the VirtualMachines of the Supervisor that match.
func (i *Inspector) machineParts(ctx context.Context, match func(api.VirtualMachine) bool) (parts []part) {
	if i.Supervisor == nil {
		return nil
	}
	s := i.Supervisor(ctx, false)
	if s.Machines.Err != nil {
		return []part{{"VirtualMachine", func(context.Context) (any, error) { return nil, s.Machines.Err }}}
	}
	for _, m := range s.Machines.Is {
		if match(m) {
			parts = append(parts, part{"VirtualMachine " + m.Namespace + "/" + m.Name, func(context.Context) (any, error) { return m.Object, nil }})
		}
	}
	return parts
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
		list := []explain.VMState{m}
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
func tagged(m explain.VMState) any {
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

// inspectVolume reads a volume at every hop.
func (i *Inspector) inspectVolume(ctx context.Context, r api.Subject) ([]part, error) {
	row, err := storage.Find(i.Volumes(), r.Name)
	if err != nil {
		return nil, err
	}
	v := volumeObjects{cluster{i.Kubernetes()}, row}
	var parts []part
	if row.Claim != "" {
		parts = append(parts, part{"PersistentVolumeClaim " + row.Claim, func(ctx context.Context) (any, error) {
			c, err := v.claim(ctx)
			if err == nil && c == nil {
				err = notThere("such claim any more")
			}
			return c, err
		}})
	}
	parts = append(parts, part{"PersistentVolume " + row.Name, func(ctx context.Context) (any, error) {
		pv, err := v.volume(ctx)
		if err == nil && pv == nil {
			err = notThere("PersistentVolume")
		}
		return pv, err
	}})
	parts = append(parts, attachmentParts(ctx, v)...)
	if row.Handle != "" {
		parts = append(parts, part{"CNS volume " + row.Handle, func(ctx context.Context) (any, error) {
			_, volume, err := i.queryCNS(ctx, row.Handle)
			if volume == nil {
				return nil, cmp.Or(err, notThere("volume of this id in any vCenter"))
			}
			return tree(volume), nil
		}}, part{"Disk of VM " + cmp.Or(row.VM, "(none)"), func(ctx context.Context) (any, error) { return i.diskDevice(ctx, row) }})
	}
	return parts, nil
}

// attachmentParts are the VolumeAttachments of a volume; one that says why when they cannot be listed.
func attachmentParts(ctx context.Context, v volumeObjects) (parts []part) {
	var list []storagev1.VolumeAttachment
	var err error
	together(ctx, func(ctx context.Context) { list, err = v.attachments(ctx) })
	if err != nil {
		return []part{{"VolumeAttachment", func(context.Context) (any, error) { return nil, err }}}
	}
	for _, a := range list {
		parts = append(parts, part{"VolumeAttachment " + a.Name, func(context.Context) (any, error) { return &a, nil }})
	}
	return parts
}

// diskDevice is the virtual disk of a VM that is the volume.
func (i *Inspector) diskDevice(ctx context.Context, row api.Volume) (any, error) {
	for _, v := range i.World().VMs() {
		if v.VCenter != row.VCenter || !slices.ContainsFunc(v.Disks, func(d api.Disk) bool { return d.Volume == row.Handle }) {
			continue
		}
		var vm mo.VirtualMachine
		if err := i.reader(v.VCenter).read(ctx, v.Ref, []string{"config.hardware"}, &vm); err != nil {
			return nil, err
		}
		if vm.Config == nil {
			break
		}
		for _, d := range devices(vm.Config.Hardware.Device) {
			if device, ok := d.(map[string]any); ok && device["vDiskId"] == row.Handle {
				return device, nil
			}
		}
	}
	return nil, notThere("VM with this disk")
}

// inspectHost reads a host.
func (i *Inspector) inspectHost(_ context.Context, r api.Subject) ([]part, error) {
	var names []string
	var parts []part
	for _, vc := range i.VCenters() {
		for _, h := range vc.Inventory.Items("HostSystem") {
			names = append(names, h.Name)
			if h.Name == r.Name && (r.VCenter == "" || r.VCenter == vc.Row.Name) {
				parts = append(parts, i.hostPart(reader{vc, i.Roles}, h))
			}
		}
	}
	if len(parts) == 0 {
		return nil, unknownName("host", r.Name, names)
	}
	return parts, nil
}

func (i *Inspector) hostPart(a reader, item world.Item) part {
	return part{fmt.Sprintf("Host %s of vCenter %s", item.Name, a.Name()), func(ctx context.Context) (any, error) {
		var h mo.HostSystem
		err := a.read(ctx, item.Ref, []string{"name", "parent", "overallStatus", "runtime", "summary.hardware", "summary.quickStats", "vm", "datastore"}, &h)
		if err != nil {
			return nil, err
		}
		h.Runtime.HealthSystemRuntime = nil // every sensor there is
		of, err := a.tagsOf(ctx, []ref{item.Ref})
		var tags any
		if err != nil {
			tags = "cannot be read: " + err.Error()
		} else {
			var list []any
			for _, t := range of[item.Ref] {
				list = append(list, map[string]any{"category": t.Category, "tag": t.Name})
			}
			tags = list
		}
		return bare(map[string]any{
			"name": h.Name, "moref": item.Ref.String(), "path": item.Path, "overallStatus": h.OverallStatus, "runtime": tree(h.Runtime),
			"summary": map[string]any{"hardware": tree(h.Summary.Hardware), "quickStats": tree(h.Summary.QuickStats)}, "vm": refs(h.Vm), "datastore": refs(h.Datastore), "tags": tags,
		}), nil
	}}
}

// inspectVCenter reads what a vCenter says of itself, and what goes through its gate.
func (i *Inspector) inspectVCenter(_ context.Context, r api.Subject) ([]part, error) {
	all := i.VCenters()
	at := slices.IndexFunc(all, func(vc VCenter) bool { return vc.Row.Name == r.Name })
	if at < 0 {
		var names []string
		for _, vc := range all {
			names = append(names, vc.Row.Name)
		}
		return nil, unknownName("vcenter", r.Name, names)
	}
	vc := all[at]
	return []part{
		{"vCenter " + r.Name, func(context.Context) (any, error) { return vc.Row, nil }},
		{"About vCenter " + r.Name, func(ctx context.Context) (about any, err error) {
			err = vc.Client.Do(ctx, func(_ context.Context, session *vcenter.Session) error {
				about = tree(session.Vim.ServiceContent.About)
				return nil
			})
			return about, err
		}},
		{"Sessions of vCenter " + r.Name, func(context.Context) (any, error) {
			simulated, err := vc.Simulated("list sessions")
			if err != nil {
				return nil, err
			}
			users := map[string]int{}
			list := simulated.Sessions()
			for _, session := range list {
				users[session.User]++
			}
			return map[string]any{"count": len(list), "limit": simulated.SessionLimit(), "byUser": users}, nil
		}},
		{"Calls of vCenter " + r.Name, func(context.Context) (any, error) {
			byClient := map[string]map[string]any{}
			for _, c := range vc.Calls() {
				if byClient[c.Client] == nil {
					byClient[c.Client] = map[string]any{}
				}
				byClient[c.Client][c.Method] = bare(map[string]any{"calls": c.Calls, "errors": c.Errors, "lastError": c.LastError})
			}
			return byClient, nil
		}},
	}, nil
}

// inspectComponent shows a component with the end of its log.
func (i *Inspector) inspectComponent(_ context.Context, r api.Subject) ([]part, error) {
	row := i.component(r.Name)
	if row == nil {
		var names []string
		for _, c := range i.Components() {
			names = append(names, c.Name)
		}
		return nil, unknownName("component", r.Name, names)
	}
	return []part{
		{"Component " + r.Name, func(context.Context) (any, error) { return row, nil }},
		{"Log of " + r.Name, func(context.Context) (any, error) {
			const most = 20
			lines := strings.Split(strings.TrimSpace(child.LogTail(row.Log, 0)), "\n")
			return lines[max(0, len(lines)-most):], nil
		}},
	}, nil
}
