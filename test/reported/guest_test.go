package reported

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// set writes properties of a VM that only a guest, a host or a failover writes at a vCenter: in pairs of name and value.
// It is vcsim's own way to do it.
func set(ctx context.Context, m *lab.Machine, pairs ...any) error {
	vm, err := m.Object(ctx)
	if err != nil {
		return err
	}
	return setOf(ctx, vm, pairs...)
}

// setOf is set for one that is in no search.
func setOf(ctx context.Context, vm *object.VirtualMachine, pairs ...any) error {
	var spec types.VirtualMachineConfigSpec
	for i := 0; i+1 < len(pairs); i += 2 {
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: "SET." + pairs[i].(string), Value: pairs[i+1]})
	}
	task, err := vm.Reconfigure(ctx, spec)
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("vm %s: %v: %w", vm.Reference().Value, pairs, err)
	}
	return nil
}

// guestOf is what the guest of a machine reports.
func guestOf(ctx context.Context, m *lab.Machine) (*types.GuestInfo, error) {
	vm, err := m.Object(ctx)
	if err != nil {
		return nil, err
	}
	var got mo.VirtualMachine
	if err := vm.Properties(ctx, vm.Reference(), []string{"guest"}, &got); err != nil {
		return nil, err
	}
	if got.Guest == nil {
		return nil, fmt.Errorf("vm %s has no guest", m.Name)
	}
	return got.Guest, nil
}

// rename has the guest report another hostname.
func rename(ctx context.Context, m *lab.Machine, name string) error {
	return set(ctx, m, "guest.hostName", name)
}

// nics has the guest report these adapters.
func nics(ctx context.Context, m *lab.Machine, all ...types.GuestNicInfo) error {
	return set(ctx, m, "guest.net", types.ArrayOfGuestNicInfo{GuestNicInfo: all})
}

// silence has the guest report neither hostname nor adapters, as before its tools run, until speak.
func silence(ctx context.Context, machines ...*lab.Machine) (speak []func() error, err error) {
	for _, m := range machines {
		was, err := guestOf(ctx, m)
		if err != nil {
			return nil, err
		}
		if err := steps(
			func() error { return rename(ctx, m, "") },
			func() error { return nics(ctx, m) },
		); err != nil {
			return nil, err
		}
		speak = append(speak, func() error {
			return steps(
				func() error { return nics(ctx, m, was.Net...) },
				func() error { return rename(ctx, m, was.HostName) },
			)
		})
	}
	return speak, nil
}

// setUUID has a VM tell another UUID, or none.
func setUUID(ctx context.Context, vm *object.VirtualMachine, to string) error {
	return setOf(ctx, vm, "config.uuid", to, "summary.config.uuid", to)
}
