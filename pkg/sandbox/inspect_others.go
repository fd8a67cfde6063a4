package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// inspectVolume reads a volume at every hop.
func (s *Sandbox) inspectVolume(ctx context.Context, r api.Subject) ([]part, error) {
	row, err := storage.Find(s.volumes(), r.Name)
	if err != nil {
		return nil, err
	}
	v := volumeObjects{askedCluster{s.clientset()}, row}
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
			_, volume, err := s.queryCNS(ctx, row.Handle)
			if volume == nil {
				return nil, cmp.Or(err, notThere("volume of this id in any vCenter"))
			}
			return tree(volume), nil
		}}, part{"Disk of VM " + cmp.Or(row.VM, "(none)"), func(ctx context.Context) (any, error) { return s.diskDevice(ctx, row) }})
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
func (s *Sandbox) diskDevice(ctx context.Context, row api.Volume) (any, error) {
	for _, v := range s.world.VMs() {
		if v.VCenter != row.VCenter || !slices.ContainsFunc(v.Disks, func(d api.Disk) bool { return d.Volume == row.Handle }) {
			continue
		}
		var vm mo.VirtualMachine
		if err := (asking{s.watchedVCenter(v.VCenter), s}).read(ctx, v.Ref, []string{"config.hardware"}, &vm); err != nil {
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
func (s *Sandbox) inspectHost(_ context.Context, r api.Subject) ([]part, error) {
	var names []string
	var parts []part
	for _, vc := range s.vcenters {
		for _, h := range vc.inventory.Items("HostSystem") {
			names = append(names, h.Name)
			if h.Name == r.Name && (r.VCenter == "" || r.VCenter == vc.Name()) {
				parts = append(parts, s.hostPart(asking{vc, s}, h))
			}
		}
	}
	if len(parts) == 0 {
		return nil, unknownName("host", r.Name, names)
	}
	return parts, nil
}

func (s *Sandbox) hostPart(a asking, item world.Item) part {
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
func (s *Sandbox) inspectVCenter(_ context.Context, r api.Subject) ([]part, error) {
	vc := s.watchedVCenter(r.Name)
	if vc == nil {
		var names []string
		for _, vc := range s.vcenters {
			names = append(names, vc.Name())
		}
		return nil, unknownName("vcenter", r.Name, names)
	}
	return []part{
		{"vCenter " + r.Name, func(context.Context) (any, error) { return s.vcenterRow(vc), nil }},
		{"About vCenter " + r.Name, func(ctx context.Context) (about any, err error) {
			err = vc.client.Do(ctx, func(_ context.Context, session *vcenter.Session) error {
				about = tree(session.Vim.ServiceContent.About)
				return nil
			})
			return about, err
		}},
		{"Sessions of vCenter " + r.Name, func(context.Context) (any, error) {
			simulated, err := vc.simulated("list sessions")
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
		{"Calls of vCenter " + r.Name, func(ctx context.Context) (any, error) {
			rows, err := s.calls(ctx)
			list, _ := rows.([]api.Calls)
			byClient := map[string]map[string]any{}
			for _, c := range list {
				if c.VCenter != r.Name {
					continue
				}
				if byClient[c.Client] == nil {
					byClient[c.Client] = map[string]any{}
				}
				byClient[c.Client][c.Method] = bare(map[string]any{"calls": c.Calls, "errors": c.Errors, "lastError": c.LastError})
			}
			return byClient, err
		}},
	}, nil
}

// inspectComponent shows a component with the end of its log.
func (s *Sandbox) inspectComponent(_ context.Context, r api.Subject) ([]part, error) {
	row := s.componentRow(r.Name)
	if row == nil {
		var names []string
		for _, c := range s.componentRows() {
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
