package host

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/redirect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// refusal holds the faults for changes of a VM's disks; nil: allowed.
type refusal struct{ attach, detach types.BaseMethodFault }

// RefuseDisks makes attaching disks to the VM, or detaching them, fail with a fault; nil allows it. Other changes of the VM are
// not affected.
func (h *Hosts) RefuseDisks(parent context.Context, ref types.ManagedObjectReference, attach, detach types.BaseMethodFault) error {
	if err := parent.Err(); err != nil {
		return err
	}
	vm, ok := h.base.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return fmt.Errorf("VM %s: no such VM", ref.Value)
	}
	h.mu.Lock()
	_, was := h.refused[ref]
	on := attach != nil || detach != nil
	if on {
		h.refused[ref] = refusal{attach, detach}
	} else {
		delete(h.refused, ref)
	}
	h.mu.Unlock()
	if on != was {
		kind, level, message := "vm.disks-refused", event.Warning, "changes of its disks are refused"
		if !on {
			kind, level, message = "vm.disks-accepted", event.Info, "its disks can be changed again"
		}
		h.log(event.Object{Kind: "VM", Name: vm.Name}, ref, level, kind, 0, message)
	}
	return nil
}

// DisksRefused returns the faults with which attaching disks to a VM, and detaching them, are refused; nil for those that are not.
func (h *Hosts) DisksRefused(ref types.ManagedObjectReference) (attach, detach types.BaseMethodFault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.refused[ref]
	return r.attach, r.detach
}

// Of returns the hosts of the vCenter with the registry of ctx, or nil.
func Of(ctx *simulator.Context) *Hosts {
	h, _ := ctx.Map.Get(self()).(*Hosts)
	return h
}

// storage answers the calls that fail because of missing space or refused disks, with failing tasks.
type storage struct {
	redirect.Receiver
	h *Hosts
}

func newStorage(h *Hosts) *storage {
	s := &storage{h: h}
	s.Self = vc.Ref{Type: "SandboxStorage", Value: "sandbox-storage"}
	s.Methods = map[string][]string{
		"Folder":       {"CreateVM_Task"},
		"ResourcePool": {"CreateChildVM_Task"},
		"VirtualApp":   {"CreateChildVM_Task"},
		"VirtualMachine": {
			"CloneVM_Task", "RelocateVM_Task", "ReconfigVM_Task", "CreateSnapshot_Task", "CreateSnapshotEx_Task",
			"AttachDisk_Task", "DetachDisk_Task",
		},
		"VirtualDiskManager":           {"CreateVirtualDisk_Task", "ExtendVirtualDisk_Task", "CopyVirtualDisk_Task"},
		"VcenterVStorageObjectManager": {"CreateDisk_Task", "ExtendDisk_Task"},
		"Datastore":                    {"RefreshDatastore"},
	}
	return s
}

// redirect takes over a call that must fail or that attaches an existing disk.
func (s *storage) redirect(ctx *simulator.Context, method *simulator.Method) bool {
	if req, ok := method.Body.(*types.ReconfigVM_Task); ok && s.h.Methods != nil && len(attached(req)) > 0 {
		return s.Receiver.Redirect(ctx, method)
	}
	s.h.mu.Lock()
	idle := len(s.h.full) == 0 && len(s.h.refused) == 0
	s.h.mu.Unlock()
	if idle {
		return false
	}
	if method.Name == "RefreshDatastore" { // vcsim would find space
		return s.h.Full(method.This) && s.Receiver.Redirect(ctx, method)
	}
	return s.h.reason(ctx, method.Body) != nil && s.Receiver.Redirect(ctx, method)
}

// fail returns a task on the object that fails with the reason.
func (s *storage) fail(ctx *simulator.Context, this vc.Ref, method string, req any) vc.Ref {
	t := simulator.CreateTask(this, strings.ToLower(method[:1])+method[1:], func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		if fault := s.h.reason(ctx, req); fault != nil {
			return nil, fault
		}
		return nil, new(types.TaskInProgress) // the reason has disappeared since
	})
	t.Info.Name = method + "_Task"
	return vc.Run(ctx, t)
}

func (s *storage) CreateVMTask(ctx *simulator.Context, req *types.CreateVM_Task) soap.HasFault {
	return &methods.CreateVM_TaskBody{Res: &types.CreateVM_TaskResponse{Returnval: s.fail(ctx, req.This, "CreateVM", req)}}
}

func (s *storage) CreateChildVMTask(ctx *simulator.Context, req *types.CreateChildVM_Task) soap.HasFault {
	return &methods.CreateChildVM_TaskBody{Res: &types.CreateChildVM_TaskResponse{Returnval: s.fail(ctx, req.This, "CreateChildVM", req)}}
}

func (s *storage) CloneVMTask(ctx *simulator.Context, req *types.CloneVM_Task) soap.HasFault {
	return &methods.CloneVM_TaskBody{Res: &types.CloneVM_TaskResponse{Returnval: s.fail(ctx, req.This, "CloneVM", req)}}
}

func (s *storage) RelocateVMTask(ctx *simulator.Context, req *types.RelocateVM_Task) soap.HasFault {
	return &methods.RelocateVM_TaskBody{Res: &types.RelocateVM_TaskResponse{Returnval: s.fail(ctx, req.This, "RelocateVM", req)}}
}

// ReconfigVMTask fails, or attaches existing disks.
func (s *storage) ReconfigVMTask(ctx *simulator.Context, req *types.ReconfigVM_Task) soap.HasFault {
	if vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine); ok && s.h.reason(ctx, req) == nil {
		return s.attach(ctx, vm, req)
	}
	return &methods.ReconfigVM_TaskBody{Res: &types.ReconfigVM_TaskResponse{Returnval: s.fail(ctx, req.This, "ReconfigVM", req)}}
}

func (s *storage) CreateSnapshotTask(ctx *simulator.Context, req *types.CreateSnapshot_Task) soap.HasFault {
	return &methods.CreateSnapshot_TaskBody{Res: &types.CreateSnapshot_TaskResponse{Returnval: s.fail(ctx, req.This, "CreateSnapshot", req)}}
}

func (s *storage) CreateSnapshotExTask(ctx *simulator.Context, req *types.CreateSnapshotEx_Task) soap.HasFault {
	return &methods.CreateSnapshotEx_TaskBody{Res: &types.CreateSnapshotEx_TaskResponse{Returnval: s.fail(ctx, req.This, "CreateSnapshotEx", req)}}
}

func (s *storage) AttachDiskTask(ctx *simulator.Context, req *types.AttachDisk_Task) soap.HasFault {
	return &methods.AttachDisk_TaskBody{Res: &types.AttachDisk_TaskResponse{Returnval: s.fail(ctx, req.This, "AttachDisk", req)}}
}

func (s *storage) DetachDiskTask(ctx *simulator.Context, req *types.DetachDisk_Task) soap.HasFault {
	return &methods.DetachDisk_TaskBody{Res: &types.DetachDisk_TaskResponse{Returnval: s.fail(ctx, req.This, "DetachDisk", req)}}
}

func (s *storage) CreateVirtualDiskTask(ctx *simulator.Context, req *types.CreateVirtualDisk_Task) soap.HasFault {
	return &methods.CreateVirtualDisk_TaskBody{Res: &types.CreateVirtualDisk_TaskResponse{Returnval: s.fail(ctx, req.This, "CreateVirtualDisk", req)}}
}

func (s *storage) ExtendVirtualDiskTask(ctx *simulator.Context, req *types.ExtendVirtualDisk_Task) soap.HasFault {
	return &methods.ExtendVirtualDisk_TaskBody{Res: &types.ExtendVirtualDisk_TaskResponse{Returnval: s.fail(ctx, req.This, "ExtendVirtualDisk", req)}}
}

func (s *storage) CopyVirtualDiskTask(ctx *simulator.Context, req *types.CopyVirtualDisk_Task) soap.HasFault {
	return &methods.CopyVirtualDisk_TaskBody{Res: &types.CopyVirtualDisk_TaskResponse{Returnval: s.fail(ctx, req.This, "CopyVirtualDisk", req)}}
}

func (s *storage) CreateDiskTask(ctx *simulator.Context, req *types.CreateDisk_Task) soap.HasFault {
	return &methods.CreateDisk_TaskBody{Res: &types.CreateDisk_TaskResponse{Returnval: s.fail(ctx, req.This, "CreateDisk", req)}}
}

func (s *storage) ExtendDiskTask(ctx *simulator.Context, req *types.ExtendDisk_Task) soap.HasFault {
	return &methods.ExtendDisk_TaskBody{Res: &types.ExtendDisk_TaskResponse{Returnval: s.fail(ctx, req.This, "ExtendDisk", req)}}
}

// RefreshDatastore finds no space.
func (s *storage) RefreshDatastore(*simulator.Context, *types.RefreshDatastore) soap.HasFault {
	return &methods.RefreshDatastoreBody{Res: new(types.RefreshDatastoreResponse)}
}

// attached lists the existing disks that a call attaches.
func attached(req *types.ReconfigVM_Task) (disks []*types.VirtualDisk) {
	for _, change := range req.Spec.DeviceChange {
		c := change.GetVirtualDeviceConfigSpec()
		disk, ok := c.Device.(*types.VirtualDisk)
		if !ok || c.Operation != types.VirtualDeviceConfigSpecOperationAdd || c.FileOperation != "" {
			continue
		}
		if b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok && b.GetVirtualDeviceFileBackingInfo().FileName != "" {
			disks = append(disks, disk)
		}
	}
	return disks
}

// attach calls vcsim, and returns the space to the datastores that vcsim deducts for existing files.
func (s *storage) attach(ctx *simulator.Context, vm *simulator.VirtualMachine, req *types.ReconfigVM_Task) (body soap.HasFault) {
	type taken struct {
		datastore string
		bytes     int64
	}
	var all []taken
	for _, disk := range attached(req) {
		var p object.DatastorePath
		if !p.FromString(disk.Backing.(types.BaseVirtualDeviceFileBackingInfo).GetVirtualDeviceFileBackingInfo().FileName) {
			continue
		}
		bytes := disk.CapacityInBytes
		bytes = cmp.Or(bytes, disk.CapacityInKB<<10)
		all = append(all, taken{p.Datastore, bytes})
	}
	before := len(diskFiles(ctx, vm))
	ctx.WithLock(vm, func() { body = vm.ReconfigVMTask(ctx, req) })
	done := vc.Fresh(ctx)
	done.WithLock(vm, func() {}) // The task has taken the lock over, and releases it when it is done.
	if len(diskFiles(done, vm)) <= before {
		return body // it has failed
	}
	var datastores []vc.Ref
	done.WithLock(vm, func() { datastores = append(datastores, vm.Datastore...) })
	for _, t := range all {
		for _, ref := range datastores {
			ds, ok := done.Map.Get(ref).(*simulator.Datastore)
			if !ok || ds.Name != t.datastore {
				continue
			}
			done.WithLock(ds, func() { free(done, ds, ds.Summary.FreeSpace+t.bytes) })
		}
	}
	return body
}

// diskFiles lists the files of the VM's disks.
func diskFiles(ctx *simulator.Context, vm *simulator.VirtualMachine) (files []string) {
	ctx.WithLock(vm, func() {
		if vm.Config == nil {
			return
		}
		for _, d := range vm.Config.Hardware.Device {
			if disk, ok := d.(*types.VirtualDisk); ok {
				if b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
					files = append(files, b.GetVirtualDeviceFileBackingInfo().FileName)
				}
			}
		}
	})
	return files
}
