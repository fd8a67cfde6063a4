package vm

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

// origin is what a VM was that left the inventory, as far as its configuration file does not say.
type origin struct {
	Ref          machine.Ref        `json:"ref"`
	Name         string             `json:"name"`
	Folder       machine.Ref        `json:"folder"`
	Pool         machine.Ref        `json:"pool"`
	Host         machine.Ref        `json:"host"`
	File         string             `json:"file"` // the path of the configuration file
	UUID         string             `json:"uuid"`
	InstanceUUID string             `json:"instanceUUID"`
	GuestID      string             `json:"guestID"`
	Version      string             `json:"version"`
	Power        machine.PowerState `json:"power"`
	Disks        []disk             `json:"disks,omitempty"`
	Tags         []string           `json:"tags,omitempty"` // their IDs
	Values       map[int32]string   `json:"values,omitempty"`
}

// disk is a virtual disk that is the VM's own.
type disk struct {
	File string `json:"file"`
	KiB  int64  `json:"kib"`
}

// remember writes down what a VM is. It refuses VMs that would not come back as they were.
func remember(ctx context.Context, c *fault.Call, vm *machine.VM) (o origin, _ error) {
	switch {
	case vm.Snapshots:
		return o, fault.Refuse("vm %s: has snapshots, which would not come back", vm.Name)
	case vm.Parent == nil || vm.Parent.Type != "Folder" || vm.Pool == nil || vm.Runtime.Host == nil:
		return o, fault.Refuse("vm %s: is in a vApp or in no resource pool, where it could not come back", vm.Name)
	}
	o = origin{
		Ref: vm.Reference(), Name: vm.Name, Folder: *vm.Parent, Pool: *vm.Pool, Host: *vm.Runtime.Host, File: vm.Config.Files.VmPathName,
		UUID: vm.Config.Uuid, InstanceUUID: vm.Config.InstanceUuid, GuestID: vm.Config.GuestId, Version: vm.Config.Version,
		Power: vm.Runtime.PowerState, Values: make(map[int32]string),
	}
	for _, d := range vm.Config.Hardware.Device {
		if d, ok := d.(*types.VirtualDisk); ok && d.VDiskId == nil {
			if b, ok := d.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
				o.Disks = append(o.Disks, disk{File: b.GetVirtualDeviceFileBackingInfo().FileName, KiB: d.CapacityInKB})
			}
		}
	}
	for _, v := range vm.Values {
		if v, ok := v.(*types.CustomFieldStringValue); ok {
			o.Values[v.Key] = v.Value
		}
	}
	ep, err := machine.Endpoint(c)
	if err != nil {
		return o, err
	}
	err = ep.REST(ctx, func(ctx context.Context, r *rest.Client) (err error) {
		o.Tags, err = tags.NewManager(r).ListAttachedTags(ctx, vm.Reference())
		slices.Sort(o.Tags)
		return err
	})
	return o, err
}

// here is the VM of that name where it was; nil when there is none.
func (o *origin) here(ctx context.Context, client *vim25.Client) (*machine.VM, error) {
	found, err := object.NewSearchIndex(client).FindChild(ctx, o.Folder, o.Name)
	if err != nil || found == nil {
		return nil, err
	}
	vm, err := machine.Read(ctx, client, found.Reference())
	if machine.Gone(err) {
		return nil, nil
	}
	return vm, err
}

// mark gives the VM what was attached to it.
func (o *origin) mark(ctx context.Context, ep *fault.Endpoint, vm *machine.VM) error {
	if err := o.value(ctx, vm); err != nil {
		return err
	}
	return ep.REST(ctx, func(ctx context.Context, r *rest.Client) error {
		m := tags.NewManager(r)
		have, err := m.ListAttachedTags(ctx, vm.Reference())
		if err != nil {
			return err
		}
		for _, tag := range o.Tags {
			if slices.Contains(have, tag) {
				continue
			}
			if err := m.AttachTag(ctx, tag, vm.Reference()); err != nil {
				return err
			}
		}
		return nil
	})
}

// value gives the VM its custom attributes.
func (o *origin) value(ctx context.Context, vm *machine.VM) error {
	have := make(map[int32]string)
	for _, v := range vm.Values {
		if v, ok := v.(*types.CustomFieldStringValue); ok {
			have[v.Key] = v.Value
		}
	}
	for key, value := range o.Values {
		if have[key] == value {
			continue
		}
		m, err := object.GetCustomFieldsManager(vm.Client())
		if err != nil {
			return err
		}
		if err := m.Set(ctx, vm.Reference(), key, value); err != nil {
			return err
		}
	}
	return nil
}
