package api

import (
	"context"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// restart is vpxd that ends and starts.
func restart() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "vcenter.restart",
		Short: "restarts a vCenter: sessions end, connections are cut, and it is away for a while",
		Long: `As "service-control --restart vpxd" does: every session ends, for SOAP and REST,
connections are cut and refused for the downtime, which the sandbox's speed
scales; then it is back with the inventory, tags and permissions that it had.
Clients have to log in again and to make their property filters anew.

It is over when the vCenter is back.`,
		Object: fault.VCenter,
		Needs:  []fault.Need{fault.Simulator},
		Params: []fault.Param{
			{Name: "downtime", Short: "how long it is away, before it is scaled by the sandbox's speed", Type: fault.Duration, Default: "30s"},
		},
		Touches:   "running",
		Momentary: true,
		Reported:  []string{"cloud-provider-vsphere#479"},
	}, fault.Steps[kept]{
		Plan: func(_ context.Context, c *fault.Call) (kept, string, error) {
			v, err := vcenter(c)
			if err != nil {
				return kept{}, "", err
			}
			does := fmt.Sprintf("restarts; ends %d sessions, and is away for %s", len(v.Sessions()), scaled(c, "downtime"))
			return kept{}, does, planned(v, nil)
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *kept) error {
			v, err := vcenter(c)
			if err != nil {
				return err
			}
			id, err := v.Gate().Add(gate.Rule{Name: c.Lease, Action: gate.Outage{}})
			if err != nil {
				return err
			}
			v.EndSessions("")
			downtime := time.NewTimer(scaled(c, "downtime"))
			defer downtime.Stop()
			select {
			case <-downtime.C:
			case <-ctx.Done(): // it comes back all the same
			}
			if err := v.Gate().Remove(context.WithoutCancel(ctx), id); err != nil {
				return err
			}
			c.Note("vcenter.restarted", event.Info, "vCenter is back")
			return nil
		},
	})
}

// scaled is a parameter as it is at the sandbox's speed.
func scaled(c *fault.Call, param string) time.Duration {
	return time.Duration(float64(c.Params.Duration(param)) / max(1, float64(c.Ground.Speed)))
}
