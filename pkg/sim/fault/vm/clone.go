package vm

import (
	"context"
	"net/netip"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vms"
)

// cloned is the location of the clone.
type cloned struct {
	Folder vms.Ref `json:"folder"`
	Name   string  `json:"name"`
}

func cloneSameUUID() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.clone-same-uuid", Object: fault.VM, Aspect: "clone",
		Short: "makes clones of VMs that have the same BIOS UUID",
		Long: "As a copied configuration file does, or a restored backup beside the original. The instance UUID is the clone's own. Powered on, " +
			"its guest has the hostname of the original and its own addresses. A search for the node's UUID finds two VMs. Healing destroys the clone.",
		Params:   []fault.Param{{Name: "power", Short: "the clone's power", Type: fault.Text, Default: "off", Choices: []string{"on", "off"}}},
		Reported: []string{"cloud-provider-vsphere#661"},
	}, fault.Steps[cloned]{
		Plan: func(ctx context.Context, c *fault.Call) (s cloned, does string, err error) {
			err = vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) error {
				if err := vm.Reachable(); err != nil {
					return err
				}
				if vm.Parent == nil || vm.Pool == nil {
					return fault.Refuse("vm %s: is in a vApp or in no resource pool", vm.Name)
				}
				does = "clone with UUID " + vm.Config.Uuid + ", powered " + c.Params.Text("power")
				s = cloned{Folder: *vm.Parent, Name: vm.Name + "-clone"}
				for { // another lease may have made one
					other, err := object.NewSearchIndex(vm.Client()).FindChild(ctx, s.Folder, s.Name)
					if err != nil || other == nil {
						return err
					}
					s.Name += "-clone"
				}
			})
			return s, does, err
		},
		Apply: func(ctx context.Context, c *fault.Call, s *cloned) error { return s.clone(ctx, c) },
		Revert: func(ctx context.Context, c *fault.Call, s *cloned) error {
			ep, err := vms.Endpoint(c)
			if err != nil {
				return err
			}
			if ep.Sim != nil {
				ep.Sim.Guests().Release(c.Target.Ref, vms.LeaseName(c, "clone"))
			}
			return s.remove(ctx, c, ep)
		},
	})
}

func (s *cloned) clone(ctx context.Context, c *fault.Call) error {
	ep, err := vms.Endpoint(c)
	if err != nil {
		return err
	}
	return vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) error {
		if ep.Sim != nil && c.Seq != 0 {
			defer ep.Sim.Causing(s.Name, c.Seq)()
		}
		var ref vms.Ref
		err := vms.LockFiles(ctx, c, func() error {
			t, err := vm.Clone(ctx, object.NewFolder(vm.Client(), s.Folder), s.Name, types.VirtualMachineCloneSpec{
				Location: types.VirtualMachineRelocateSpec{Pool: vm.Pool},
				Config:   &types.VirtualMachineConfigSpec{Uuid: vm.Config.Uuid, DeviceChange: withoutVolumes(vm)},
			})
			ref, err = vms.WaitResult(ctx, t, err)
			return err
		})
		if err != nil || c.Params.Text("power") == "off" {
			return err
		}
		if ep.Sim != nil {
			if err := s.install(c, ep, ref); err != nil {
				return err
			}
		}
		t, err := object.NewVirtualMachine(vm.Client(), ref).PowerOn(ctx)
		return vms.WaitTask(ctx, t, err)
	})
}

// withoutVolumes removes the volumes from a clone: a first-class disk has one owner.
func withoutVolumes(vm *vms.VM) (changes []types.BaseVirtualDeviceConfigSpec) {
	for _, d := range vm.Config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok && disk.VDiskId != nil {
			changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: disk})
		}
	}
	return changes
}

// install copies the contents of the original's disk, which vcsim does not: the same guest, with other addresses.
func (s *cloned) install(c *fault.Call, ep *fault.Endpoint, clone vms.Ref) error {
	info, _ := ep.Sim.Guest(c.Target.Ref)
	other := ep.Sim.Guests().ReserveAddresses(c.Target.Ref, vms.LeaseName(c, "clone"))
	for mac, list := range info.Addresses {
		var own []netip.Prefix
		for _, p := range list {
			if a, ok := other[p.Addr()]; ok {
				own = append(own, netip.PrefixFrom(a, p.Bits()))
			}
		}
		info.Addresses[mac] = own
	}
	return ep.Sim.SetGuest(clone, info)
}

// remove destroys the clone, if it exists.
func (s *cloned) remove(ctx context.Context, c *fault.Call, ep *fault.Endpoint) error {
	return ep.SOAP(ctx, func(ctx context.Context, client *vim25.Client) error {
		found, err := object.NewSearchIndex(client).FindChild(ctx, s.Folder, s.Name)
		if err != nil || found == nil {
			return err
		}
		vm, err := vms.Read(ctx, client, found.Reference())
		if err != nil {
			return err
		}
		defer vms.Causing(ep, c, found.Reference())()
		if err := vm.Power(ctx, vms.PoweredOff); err != nil {
			return err
		}
		// Volumes are tracked by the UUID of their VM: the original's must not be deleted with the clone.
		t, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{Uuid: vms.UUID(c.Rand)})
		if err := vms.WaitTask(ctx, t, err); err != nil {
			return err
		}
		return vms.LockFiles(ctx, c, func() error {
			t, err := vm.Destroy(ctx)
			return vms.WaitTask(ctx, t, err)
		})
	})
}
