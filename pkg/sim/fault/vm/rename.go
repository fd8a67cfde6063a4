package vm

import (
	"cmp"
	"context"

	"github.com/vmware/govmomi/object"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

// renamed is the name to go back to.
type renamed struct {
	Name string `json:"name"`
	To   string `json:"to"`
}

func rename() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.rename", Object: fault.VM, Touches: "name",
		Short: "gives VMs another name in the inventory",
		Long: "Neither the guest's hostname nor the UUIDs change: whoever knows a node's VM by its name loses it, and nobody else should notice. " +
			"Healing gives the VM its name back.",
		Params: []fault.Param{{Name: "to", Short: "the new name; none: its own with -renamed", Type: fault.Text}},
	}, fault.Steps[renamed]{
		Plan: func(ctx context.Context, c *fault.Call) (before renamed, does string, err error) {
			err = machine.On(ctx, c, func(ctx context.Context, vm *machine.VM) error {
				before = renamed{Name: vm.Name, To: cmp.Or(c.Params.Text("to"), vm.Name+"-renamed")}
				does = "rename to " + before.To
				if before.To == vm.Name {
					return fault.Refuse("vm %s: has that name", vm.Name)
				}
				if vm.Parent == nil {
					return nil // in a vApp
				}
				other, err := object.NewSearchIndex(vm.Client()).FindChild(ctx, *vm.Parent, before.To)
				if err == nil && other != nil {
					err = fault.Refuse("vm %s: there is another %q in its folder", vm.Name, before.To)
				}
				return err
			})
			return before, does, err
		},
		Apply: func(ctx context.Context, c *fault.Call, s *renamed) error {
			return machine.On(ctx, c, func(ctx context.Context, vm *machine.VM) error { return renameTo(ctx, vm, s.To) })
		},
		Revert: func(ctx context.Context, c *fault.Call, s *renamed) error {
			return machine.Still(ctx, c, func(ctx context.Context, vm *machine.VM) error { return renameTo(ctx, vm, s.Name) })
		},
	})
}

func renameTo(ctx context.Context, vm *machine.VM, name string) error {
	if vm.Name == name {
		return nil
	}
	t, err := vm.Rename(ctx, name)
	return machine.Done(ctx, t, err)
}
