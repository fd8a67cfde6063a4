package identity

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/vim25"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

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

// uuidOf chooses the UUID of another VM that fits.
func uuidOf(fits func(target, other fault.Item) bool, which string) func(context.Context, *fault.Call, *machine.VM) (string, string, error) {
	return func(ctx context.Context, c *fault.Call, _ *machine.VM) (id, does string, err error) {
		all, err := others(ctx, c, fits, which)
		if err != nil {
			return "", "", err
		}
		of := all[c.Rand.IntN(len(all))]
		err = c.Ground.VCenter(of.VCenter).SOAP(ctx, func(ctx context.Context, client *vim25.Client) error {
			vm, err := machine.Read(ctx, client, of.Ref)
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

// others lists the VMs that fit, of what was asked for; nodes alone, if there are any.
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
