package identity

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vms"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
)

// touchesUUID is the aspect by which these kinds exclude each other.
const touchesUUID = "UUID"

// identified is the original UUID and its replacement.
type identified struct {
	UUID string `json:"uuid"`
	New  string `json:"new"`
}

// other returns a kind that gives VMs another BIOS UUID, which choose returns.
func other(k fault.Kind, choose func(ctx context.Context, c *fault.Call, vm *vms.VM) (uuid, does string, err error)) *fault.Kind {
	k.Object, k.Aspect = fault.VM, touchesUUID
	write := func(ctx context.Context, vm *vms.VM, id string) error {
		if vm.Config.Uuid == id {
			return nil
		}
		t, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{Uuid: id})
		return vms.WaitTask(ctx, t, err)
	}
	return fault.New(k, fault.Steps[identified]{
		Plan: func(ctx context.Context, c *fault.Call) (before identified, does string, err error) {
			err = vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) error {
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
			return vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) error { return write(ctx, vm, s.New) })
		},
		Revert: func(ctx context.Context, c *fault.Call, s *identified) error {
			return vms.OnExisting(ctx, c, func(ctx context.Context, vm *vms.VM) error { return write(ctx, vm, s.UUID) })
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
	}, func(_ context.Context, c *fault.Call, _ *vms.VM) (string, string, error) {
		id := c.Params.Text("uuid")
		if id == "" {
			id = vms.UUID(c.Rand)
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
	}, func(_ context.Context, _ *fault.Call, vm *vms.VM) (string, string, error) {
		u, err := match.ParseUUID(vm.Config.Uuid)
		if err != nil {
			return "", "", fault.Refuse("vm %s: its UUID is %q", vm.Name, vm.Config.Uuid)
		}
		id := u.Swapped().String()
		return id, "change UUID to " + id, nil
	})
}

func uuidBlank() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "identity.uuid-blank", Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Aspect: touchesUUID,
		Short: "has VMs without a BIOS UUID",
		Long: "As for seconds while a host fails over: config.uuid and summary.config.uuid are empty, and no search by UUID finds the VM. " +
			"A node that registers during that time must not get the provider ID vsphere:// of no VM.",
		Reported: []string{"cloud-provider-vsphere#521"},
	}, fault.Steps[identified]{
		Plan: func(ctx context.Context, c *fault.Call) (before identified, _ string, _ error) {
			err := vms.On(ctx, c, func(_ context.Context, vm *vms.VM) error {
				if before.UUID = vm.Config.Uuid; before.UUID == "" {
					return fault.Refuse("vm %s: has no UUID already", vm.Name)
				}
				return vm.Reachable()
			})
			return before, "take its UUID away (is " + before.UUID + ")", err
		},
		Apply:  func(_ context.Context, c *fault.Call, _ *identified) error { return writeUUID(c, "") },
		Revert: func(_ context.Context, c *fault.Call, s *identified) error { return writeUUID(c, s.UUID) },
	})
}

func writeUUID(c *fault.Call, id string) error {
	ep, err := vms.Endpoint(c)
	if err != nil {
		return err
	}
	defer vms.Causing(ep, c, c.Target.Ref)()
	ep.Sim.WriteUUID(c.Target.Ref, id)
	return nil
}

func uuidDuplicate() *fault.Kind {
	return other(fault.Kind{
		Name: "identity.uuid-duplicate", Short: "gives VMs the BIOS UUID of another VM of their vCenter",
		Long:     "Who looks for that UUID finds two VMs, and FindByUuid answers with either.",
		Params:   []fault.Param{{Name: "of", Short: "whose UUID; none: a VM that is drawn", Type: fault.Text}},
		Reported: []string{"cloud-provider-vsphere#661"},
	}, uuidOf(func(t, o fault.Item) bool { return o.VCenter == t.VCenter }, "of its vCenter"))
}

func uuidDuplicateVCenter() *fault.Kind {
	return other(fault.Kind{
		Name: "identity.uuid-duplicate-vcenter", Short: "gives VMs the BIOS UUID of a VM of another vCenter",
		Long:   "Each vCenter finds one VM of that UUID, and there are two. Refused where there is one vCenter.",
		Params: []fault.Param{{Name: "of", Short: "whose UUID; none: a VM that is drawn", Type: fault.Text}},
	}, uuidOf(func(t, o fault.Item) bool { return o.VCenter != t.VCenter }, "of another vCenter"))
}

// uuidOf returns a func that chooses the UUID of another VM that fits.
func uuidOf(fits func(target, other fault.Item) bool, which string) func(context.Context, *fault.Call, *vms.VM) (string, string, error) {
	return func(ctx context.Context, c *fault.Call, _ *vms.VM) (id, does string, err error) {
		all, err := others(ctx, c, fits, which)
		if err != nil {
			return "", "", err
		}
		of := all[c.Rand.IntN(len(all))]
		err = c.Ground.VCenter(of.VCenter).SOAP(ctx, func(ctx context.Context, client *vim25.Client) error {
			vm, err := vms.Read(ctx, client, of.Ref)
			if err == nil {
				id, does = vm.Config.Uuid, "give it the UUID of "+of.String()+", "+vm.Config.Uuid
			}
			return err
		})
		if err == nil && id == "" {
			err = fault.Refuse("vm %s: has no UUID", of)
		}
		return id, does, err
	}
}

// others returns the selected VMs that fit; only nodes, if there are any.
func others(ctx context.Context, c *fault.Call, fits func(target, other fault.Item) bool, which string) ([]fault.Item, error) {
	vms, err := c.Ground.Items(ctx, fault.VM)
	if err != nil {
		return nil, err
	}
	name := c.Params.Text("of")
	vms = slices.DeleteFunc(slices.Clone(vms), func(o fault.Item) bool {
		self := o.VCenter == c.Target.VCenter && o.Ref == c.Target.Ref
		named := name == "" || o.Name == name || o.String() == name || o.Path == name
		return self || !named || !fits(c.Target, o)
	})
	nodes := slices.DeleteFunc(slices.Clone(vms), func(o fault.Item) bool { return o.Node == "" })
	switch {
	case len(vms) == 0 && name != "":
		return nil, &fault.Refusal{Code: "not-found", Message: "of: there is no other VM " + name + " " + which}
	case len(vms) == 0:
		return nil, fault.Refuse("vm %s: there is no other VM %s", c.Target.Name, which)
	case len(vms) > 1 && name != "":
		return nil, &fault.Refusal{Code: "ambiguous", Message: "of: there are several VMs " + name + " " + which, Try: "say VCENTER/NAME or an inventory path"}
	case len(nodes) > 0:
		return nodes, nil
	}
	return vms, nil
}

// namesake is the hostname of another VM.
type namesake struct {
	HostName string `json:"hostName"`
}

func hostnameDuplicate() *fault.Kind {
	const name = "identity.hostname-duplicate"
	return fault.New(fault.Kind{
		Name: name, Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Aspect: "hostname",
		Short: "has guests report the hostname of another VM",
		Long: "Who looks for that name finds two VMs: in one datacenter, or one in each of two, of which a search in the first finds " +
			"the wrong one. Their UUIDs differ.",
		Params: []fault.Param{
			{Name: "of", Short: "whose hostname; none: a VM that is drawn", Type: fault.Text},
			{Name: "where", Short: "where that VM is: the datacenter of the target or another one", Type: fault.Text, Default: "same", Choices: []string{"same", "other"}},
		},
		Reported: []string{"cloud-provider-vsphere#661"},
	}, fault.Steps[namesake]{
		Plan: func(ctx context.Context, c *fault.Call) (s namesake, does string, err error) {
			err = vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) error {
				if err := vm.Running(); err != nil {
					return err
				}
				own, _ := c.Ground.VCenter(c.Target.VCenter).Sim.Guest(vm.Reference())
				if own.HostName == "" {
					return fault.Refuse("vm %s: its guest reports no hostname", vm.Name)
				}
				of, name, err := namesakeOf(ctx, c, own.HostName)
				s.HostName = name
				does = fmt.Sprintf("report the hostname of %s, %q (is %q)", of, name, own.HostName)
				return err
			})
			return s, does, err
		},
		Apply: func(_ context.Context, c *fault.Call, s *namesake) error {
			ep, err := vms.Endpoint(c)
			if err != nil {
				return err
			}
			defer vms.Causing(ep, c, c.Target.Ref)()
			return ep.Sim.Guests().Override(c.Target.Ref, vms.LeaseName(c, name), func(r guest.Report) guest.Report {
				if r.Tools {
					r.HostName = s.HostName
				}
				return r
			})
		},
		Revert: func(_ context.Context, c *fault.Call, _ *namesake) error {
			ep, err := vms.Endpoint(c)
			if err != nil {
				return err
			}
			defer vms.Causing(ep, c, c.Target.Ref)()
			ep.Sim.Guests().Release(c.Target.Ref, vms.LeaseName(c, name))
			return nil
		},
	})
}

// namesakeOf chooses another VM and returns its hostname.
func namesakeOf(ctx context.Context, c *fault.Call, own string) (fault.Item, string, error) {
	same := c.Params.Text("where") == "same"
	which := "in its datacenter"
	if !same {
		which = "in another datacenter"
	}
	all, err := others(ctx, c, func(t, o fault.Item) bool {
		return same == (o.VCenter == t.VCenter && o.Datacenter == t.Datacenter)
	}, which)
	if err != nil {
		return fault.Item{}, "", err
	}
	for _, i := range c.Rand.Perm(len(all)) {
		ep := c.Ground.VCenter(all[i].VCenter)
		if ep == nil || ep.Sim == nil {
			continue
		}
		if info, _ := ep.Sim.Guest(all[i].Ref); info.HostName != "" && info.HostName != own {
			return all[i], info.HostName, nil
		}
	}
	return fault.Item{}, "", fault.Refuse("vm %s: no VM %s has another hostname", c.Target.Name, which)
}
