package apply

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// doVM does what differs, in an order in which each can be done.
func (p *planner) doVM(ctx context.Context, c *vim25.Client, v *vmChange, template, down bool) error {
	m := v.m
	vm := object.NewVirtualMachine(c, m.ref)
	if down {
		if err := powerOff(ctx, c, m.ref); err != nil {
			return err
		}
	}
	at, err := p.site(m.placedVM)
	if err != nil {
		return err
	}
	work := v.relocate || v.reconfig || v.cards || v.customize || v.version != ""
	if template && (work || m.Template != topology.Yes) {
		if err := vm.MarkAsVirtualMachine(ctx, *object.NewResourcePool(c, at.pool), object.NewHostSystem(c, at.host)); err != nil {
			return err
		}
		template = false
	}
	if err := p.place(ctx, c, v, vm, at); err != nil {
		return err
	}
	if v.version != "" {
		t, err := vm.UpgradeVM(ctx, v.version)
		if err := wait(ctx, t, err); err != nil {
			return err
		}
	}
	if v.cards {
		if v.spec.DeviceChange, err = p.cardChanges(ctx, c, m); err != nil {
			return err
		}
	}
	if v.reconfig || v.cards {
		t, err := vm.Reconfigure(ctx, v.spec)
		if err := wait(ctx, t, err); err != nil {
			return err
		}
	}
	if v.customize {
		if err := customize(ctx, vm, m.placedVM); err != nil {
			return err
		}
	}
	if err := p.snapshots(ctx, v, vm); err != nil {
		return err
	}
	switch {
	case m.Template == topology.Yes:
		if template {
			return nil
		}
		return vm.MarkAsTemplate(ctx)
	case m.Power == topology.PowerOff:
		return nil
	}
	state, err := vm.PowerState(ctx)
	if err != nil || state == types.VirtualMachinePowerStatePoweredOn {
		return err
	}
	t, err := vm.PowerOn(ctx)
	return wait(ctx, t, err)
}

// place moves and renames a VM.
func (p *planner) place(ctx context.Context, c *vim25.Client, v *vmChange, vm *object.VirtualMachine, at site) error {
	if v.relocate {
		spec := types.VirtualMachineRelocateSpec{Host: &at.host, Pool: &at.pool, Datastore: &at.datastore, Folder: &at.folder}
		t, err := vm.Relocate(ctx, spec, types.VirtualMachineMovePriorityDefaultPriority)
		if err := wait(ctx, t, err); err != nil {
			return err
		}
	} else if v.folder {
		t, err := object.NewFolder(c, at.folder).MoveInto(ctx, []ref{v.m.ref})
		if err := wait(ctx, t, err); err != nil {
			return err
		}
	}
	if v.rename {
		t, err := vm.Rename(ctx, v.m.Name)
		return wait(ctx, t, err)
	}
	return nil
}

func (p *planner) snapshots(ctx context.Context, v *vmChange, vm *object.VirtualMachine) error {
	for _, name := range v.drop {
		t, err := vm.RemoveSnapshot(ctx, name, false, nil)
		if err := wait(ctx, t, err); err != nil {
			return fmt.Errorf("snapshot %q: %w", name, err)
		}
	}
	for _, s := range v.take {
		t, err := vm.CreateSnapshot(ctx, s.Name, s.Description, false, false)
		if err := wait(ctx, t, err); err != nil {
			return fmt.Errorf("snapshot %q: %w", s.Name, err)
		}
	}
	return nil
}

// powerOff powers a VM off, if it is not.
func powerOff(ctx context.Context, c *vim25.Client, r ref) error {
	t, err := object.NewVirtualMachine(c, r).PowerOff(ctx)
	if err := wait(ctx, t, err); err != nil && !fault.Is(err, new(types.InvalidPowerState)) {
		return err
	}
	return nil
}
