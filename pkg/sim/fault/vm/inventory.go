package vm

import (
	"cmp"
	"context"
	"net/netip"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vms"
)

func unregister() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.unregister", Object: fault.VM, Aspect: touchesPower, ReplacesTarget: true,
		Short: "powers VMs off and takes them out of the inventory; their files stay",
		Long: "vCenter knows the VM no longer, as if it had been destroyed. Healing registers its configuration file: it comes back with the same " +
			"UUIDs, in the same place, with its tags and attributes, and is powered on if it was; its reference (vm-42) is another one. " +
			"VMs with snapshots are refused.",
	}, fault.Steps[origin]{
		Plan: planGone("unregister"),
		Apply: func(ctx context.Context, c *fault.Call, _ *origin) error {
			return vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) error {
				if err := vm.Power(ctx, vms.PoweredOff); err != nil {
					return err
				}
				return vms.LockFiles(ctx, c, func() error { return vm.Unregister(ctx) })
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, s *origin) error {
			return s.bring(ctx, c, func(ctx context.Context, client *vim25.Client, _ *fault.Endpoint) (ref vms.Ref, err error) {
				err = vms.LockFiles(ctx, c, func() error {
					t, err := object.NewFolder(client, s.Folder).RegisterVM(ctx, s.File, s.Name, false,
						object.NewResourcePool(client, s.Pool), object.NewHostSystem(client, s.Host))
					ref, err = vms.WaitResult(ctx, t, err)
					return err
				})
				return ref, err
			})
		},
	})
}

// planGone plans the removal of a VM from the inventory.
func planGone(does string) func(context.Context, *fault.Call) (origin, string, error) {
	return func(ctx context.Context, c *fault.Call) (before origin, words string, _ error) {
		err := vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) (err error) {
			if err := vm.Reachable(); err != nil {
				return err
			}
			before, err = remember(ctx, c, vm)
			words = does + " (is " + vms.PowerText(before.Power) + ")"
			return err
		})
		return before, words, err
	}
}

// bring restores a VM with all that belongs to it: an existing one, or one that make creates.
func (o *origin) bring(ctx context.Context, c *fault.Call, make func(context.Context, *vim25.Client, *fault.Endpoint) (vms.Ref, error)) error {
	ep, err := vms.Endpoint(c)
	if err != nil {
		return err
	}
	return ep.SOAP(ctx, func(ctx context.Context, client *vim25.Client) error {
		if ep.Sim != nil && c.Seq != 0 {
			defer ep.Sim.Causing(o.Name, c.Seq)() // also of the VM that will be created
		}
		vm, err := o.here(ctx, client)
		if err != nil {
			return err
		}
		if vm == nil {
			ref, err := make(ctx, client, ep)
			if err != nil {
				return err
			}
			if vm, err = vms.Read(ctx, client, ref); err != nil {
				return err
			}
			defer vms.Causing(ep, c, ref)()
		}
		if err := o.mark(ctx, ep, vm); err != nil {
			return err
		}
		return vm.Power(ctx, o.Power)
	})
}

// renamed is the original name.
type renamed struct {
	Name string `json:"name"`
	To   string `json:"to"`
}

func rename() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.rename", Object: fault.VM, Aspect: "name",
		Short: "gives VMs another name in the inventory",
		Long: "Neither the guest's hostname nor the UUIDs change: clients that find a node's VM by its name lose it; others must not notice. " +
			"Healing gives the VM its name back.",
		Params: []fault.Param{{Name: "to", Short: "the new name; none: its own with -renamed", Type: fault.Text}},
	}, fault.Steps[renamed]{
		Plan: func(ctx context.Context, c *fault.Call) (before renamed, does string, err error) {
			err = vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) error {
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
			return vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) error { return renameTo(ctx, vm, s.To) })
		},
		Revert: func(ctx context.Context, c *fault.Call, s *renamed) error {
			return vms.OnExisting(ctx, c, func(ctx context.Context, vm *vms.VM) error { return renameTo(ctx, vm, s.Name) })
		},
	})
}

func renameTo(ctx context.Context, vm *vms.VM, name string) error {
	if vm.Name == name {
		return nil
	}
	t, err := vm.Rename(ctx, name)
	return vms.WaitTask(ctx, t, err)
}

// marked is what a template lacks.
type marked struct {
	Power vms.PowerState `json:"power"`
	Pool  vms.Ref        `json:"pool"`
	Host  vms.Ref        `json:"host"`
}

func template() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.template", Object: fault.VM, Aspect: touchesPower,
		Short: "makes VMs templates",
		Long: "The VM is powered off and marked as a template, by a wrong click. It keeps name and UUIDs, but is in no resource pool, and nothing can power it on. " +
			"Healing makes it a VM again and powers it on, if it was.",
	}, fault.Steps[marked]{
		Plan: func(ctx context.Context, c *fault.Call) (before marked, does string, err error) {
			err = vms.On(ctx, c, func(_ context.Context, vm *vms.VM) error {
				if vm.Config.Template {
					return fault.Refuse("vm %s: is a template already", vm.Name)
				}
				if err := vm.Reachable(); err != nil {
					return err
				}
				if vm.Pool == nil || vm.Runtime.Host == nil {
					return fault.Refuse("vm %s: is in no resource pool that it could come back to", vm.Name)
				}
				before = marked{Power: vm.Runtime.PowerState, Pool: *vm.Pool, Host: *vm.Runtime.Host}
				does = "mark as template (is " + vms.PowerText(before.Power) + ")"
				return nil
			})
			return before, does, err
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *marked) error {
			return vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) error {
				if err := vm.Power(ctx, vms.PoweredOff); err != nil {
					return err
				}
				return vm.MarkAsTemplate(ctx)
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, s *marked) error {
			return vms.OnExisting(ctx, c, func(ctx context.Context, vm *vms.VM) error {
				if vm.Config.Template {
					pool, host := object.NewResourcePool(vm.Client(), s.Pool), object.NewHostSystem(vm.Client(), s.Host)
					if err := vm.MarkAsVirtualMachine(ctx, *pool, host); err != nil {
						return err
					}
				}
				return vm.Power(ctx, s.Power)
			})
		},
	})
}

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
