package identity

import (
	"context"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

// touchesUUID is what these exclude each other by.
const touchesUUID = "UUID"

// identified is the UUID to go back to, and the one in its place.
type identified struct {
	UUID string `json:"uuid"`
	New  string `json:"new"`
}

// other is a kind that gives VMs another BIOS UUID; choose returns it.
func other(k fault.Kind, choose func(ctx context.Context, c *fault.Call, vm *machine.VM) (uuid, does string, err error)) *fault.Kind {
	k.Object, k.Touches = fault.VM, touchesUUID
	write := func(ctx context.Context, vm *machine.VM, id string) error {
		if vm.Config.Uuid == id {
			return nil
		}
		t, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{Uuid: id})
		return machine.Done(ctx, t, err)
	}
	return fault.New(k, fault.Steps[identified]{
		Plan: func(ctx context.Context, c *fault.Call) (before identified, does string, err error) {
			err = machine.On(ctx, c, func(ctx context.Context, vm *machine.VM) error {
				if err := vm.Reachable(); err != nil {
					return err
				}
				before.UUID = vm.Config.Uuid
				if before.New, does, err = choose(ctx, c, vm); err != nil {
					return err
				}
				if before.New == before.UUID {
					return fault.Refuse("vm %s: has UUID %s already", vm.Name, before.UUID)
				}
				return nil
			})
			return before, does + " (is " + before.UUID + ")", err
		},
		Apply: func(ctx context.Context, c *fault.Call, s *identified) error {
			return machine.On(ctx, c, func(ctx context.Context, vm *machine.VM) error { return write(ctx, vm, s.New) })
		},
		Revert: func(ctx context.Context, c *fault.Call, s *identified) error {
			return machine.Still(ctx, c, func(ctx context.Context, vm *machine.VM) error { return write(ctx, vm, s.UUID) })
		},
	})
}

func uuidChanged() *fault.Kind {
	return other(fault.Kind{
		Name: "identity.uuid-changed", Short: "gives VMs another BIOS UUID",
		Long: "In place: nothing else changes. The node's provider ID names a VM that is not there, and its node must not be deleted for " +
			"a UUID that a cloud provider remembers.",
		Params:   []fault.Param{{Name: "uuid", Short: "the new UUID; none: one that is drawn", Type: fault.Text}},
		Reported: []string{"cloud-provider-vsphere#759"},
	}, func(_ context.Context, c *fault.Call, _ *machine.VM) (string, string, error) {
		id := c.Params.Text("uuid")
		if id == "" {
			id = machine.UUID(c.Rand)
		}
		parsed, err := uuid.Parse(id)
		if err != nil {
			return "", "", &fault.Refusal{Code: "invalid", Message: "uuid: " + id + " is none"}
		}
		return parsed.String(), "change UUID to " + parsed.String(), nil
	})
}

func uuidSwapped() *fault.Kind {
	return other(fault.Kind{
		Name: "identity.uuid-swapped", Short: "swaps the bytes of the first three fields of BIOS UUIDs",
		Long: "What a guest and vCenter disagree about, depending on the version of the virtual hardware: " +
			"12345678-1234-... here, 78563412-3412-... there.",
		Reported: []string{"kubernetes#58927", "cloud-provider-vsphere#485"},
	}, func(_ context.Context, _ *fault.Call, vm *machine.VM) (string, string, error) {
		u, err := match.ParseUUID(vm.Config.Uuid)
		if err != nil {
			return "", "", fault.Refuse("vm %s: its UUID is %q", vm.Name, vm.Config.Uuid)
		}
		id := u.Swapped().String()
		return id, "change UUID to " + id, nil
	})
}
