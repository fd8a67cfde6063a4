package identity

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
)

// namesake is the hostname of another VM.
type namesake struct {
	HostName string `json:"hostName"`
}

func hostnameDuplicate() *fault.Kind {
	const name = "identity.hostname-duplicate"
	return fault.New(fault.Kind{
		Name: name, Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Touches: "hostname",
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
			err = machine.On(ctx, c, func(ctx context.Context, vm *machine.VM) error {
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
			ep, err := machine.Endpoint(c)
			if err != nil {
				return err
			}
			defer machine.Causing(ep, c, c.Target.Ref)()
			return ep.Sim.OverrideGuest(c.Target.Ref, machine.Mark(c, name), func(r guest.Report) guest.Report {
				if r.Tools {
					r.HostName = s.HostName
				}
				return r
			})
		},
		Revert: func(_ context.Context, c *fault.Call, _ *namesake) error {
			ep, err := machine.Endpoint(c)
			if err != nil {
				return err
			}
			defer machine.Causing(ep, c, c.Target.Ref)()
			ep.Sim.ReleaseGuest(c.Target.Ref, machine.Mark(c, name))
			return nil
		},
	})
}

// namesakeOf chooses the VM whose name is taken, and returns that name.
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
