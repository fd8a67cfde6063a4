package inventory

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// snapshots are the requested snapshots of a VM.
type snapshots struct {
	vm   *simulator.VirtualMachine
	list []topology.Snapshot
}

// takeSnapshots takes them, each the child of the previous one, once the files of the VMs exist.
func (b *builder) takeSnapshots() error {
	for _, s := range b.snapshots {
		for _, spec := range s.list {
			if err := b.ctx.Err(); err != nil {
				return err
			}
			if err := b.snapshot(s.vm, spec); err != nil {
				return fmt.Errorf("VM %q: snapshot %q: %w", s.vm.Name, spec.Name, err)
			}
		}
	}
	return nil
}

func (b *builder) snapshot(vm *simulator.VirtualMachine, spec topology.Snapshot) error {
	ctx := b.fresh()
	var task vc.Ref
	ctx.WithLock(vm, func() {
		task = vm.CreateSnapshotTask(ctx, &types.CreateSnapshot_Task{
			This: vm.Self, Name: spec.Name, Description: spec.Description,
		}).(*methods.CreateSnapshot_TaskBody).Res.Returnval
	})
	_, err := b.tasks.wait(b.sim, task)
	return err
}
