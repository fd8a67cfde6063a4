package api

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// watchTruncated returns the kind of a property collector that truncates its answers.
func watchTruncated() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "vcenter.watch-truncated",
		Short: "cuts a vCenter's answers to those who watch properties into small pieces",
		Long: `WaitForUpdatesEx returns a few objects at a time and marks the answer truncated:
the rest follows. That is what a vCenter may do at any time, and does with large
inventories. A client that takes the first answer for the whole of it sees VMs
missing, and may delete their nodes.`,
		Object: fault.VCenter,
		Needs:  []fault.Need{fault.Simulator},
		Params: []fault.Param{
			{Name: "objects", Short: "the maximum number of objects in an answer", Type: fault.Number, Default: "1"},
		},
		Aspect: "property collector",
	}, fault.Steps[limit]{
		Plan: func(_ context.Context, c *fault.Call) (limit, string, error) {
			v, err := vcenter(c)
			if err != nil {
				return limit{}, "", err
			}
			before, n := v.UpdateLimit(), c.Params.Number("objects")
			switch {
			case before == 0:
				return limit{}, "", fault.Refuse("vCenter %s has vcsim's own property collector, which truncates nothing", v.Name())
			case n < 1:
				return limit{}, "", &fault.Refusal{Code: "invalid", Message: "objects: must be at least 1"}
			}
			return limit{Before: before}, fmt.Sprintf("returns %d objects at a time", n), nil
		},
		Apply: func(_ context.Context, c *fault.Call, _ *limit) error {
			v, err := vcenter(c)
			if err != nil {
				return err
			}
			v.SetUpdateLimit(c.Params.Number("objects"))
			return nil
		},
		Revert: func(_ context.Context, c *fault.Call, s *limit) error {
			v, err := vcenter(c)
			if err != nil {
				return err
			}
			v.SetUpdateLimit(s.Before)
			return nil
		},
	})
}

// eventBurst returns the kind of a vCenter with many events.
func eventBurst() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "vcenter.event-burst",
		Short: "posts many events at a vCenter at once",
		Long: `As an alarm that goes off for every VM: the events push older ones out of what
the vCenter remembers, and clients that follow the history have to read them all.`,
		Object: fault.VCenter,
		Params: []fault.Param{
			{Name: "events", Short: "how many", Type: fault.Number, Default: "1000"},
			{Name: "message", Short: "what they say", Type: fault.Text, Default: "burst"},
		},
		Momentary: true,
		Reported:  []string{"cloud-provider-vsphere#774"},
	}, fault.Steps[kept]{
		Plan: func(_ context.Context, c *fault.Call) (kept, string, error) {
			if c.Ground.VCenter(c.Target.Name) == nil {
				return kept{}, "", &fault.Refusal{Code: "not-found", Message: "there is no vCenter " + c.Target.Name}
			}
			return kept{}, fmt.Sprintf("posts %d events", c.Params.Number("events")), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *kept) error {
			return c.Ground.VCenter(c.Target.Name).SOAP(ctx, func(ctx context.Context, vc *vim25.Client) error {
				for i := range c.Params.Number("events") {
					e := &types.GeneralUserEvent{GeneralEvent: types.GeneralEvent{Message: fmt.Sprintf("%s %d", c.Params.Text("message"), i+1)}}
					_, err := methods.PostEvent(ctx, vc, &types.PostEvent{This: *vc.ServiceContent.EventManager, EventToPost: e})
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	})
}
