package kube

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// scaled is the state of ccm.twice.
type scaled struct {
	Before int `json:"before"`
}

func ccmTwice() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "ccm.twice", Object: fault.Sandbox, Needs: []fault.Need{fault.Children}, Touches: "ccm-replicas",
		Short: "starts more cloud controller managers, which elect a leader",
		Long: "As with a Deployment of two replicas, or a DaemonSet on several control-plane nodes. Only the leader may do anything to nodes. " +
			"Where one ran without an election it is started again. Healing ends those that are too many; the one that is left takes the lead, if it had it not.",
		Params: []fault.Param{{Name: "replicas", Short: "how many there are then", Type: fault.Number, Default: "2"}},
	}, fault.Steps[scaled]{
		Plan: func(_ context.Context, c *fault.Call) (scaled, string, error) {
			before, after := c.Ground.Processes.Replicas(ccm), c.Params.Number("replicas")
			switch {
			case before == 0:
				return scaled{}, "", fault.Refuse("the sandbox runs no cloud controller manager")
			case after <= before:
				return scaled{}, "", fault.Refuse("there are %d cloud controller managers already", before)
			}
			return scaled{before}, fmt.Sprintf("run %d cloud controller managers (there are %d)", after, before), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *scaled) error {
			defer causing(c, ccm)()
			return c.Ground.Processes.Scale(ctx, ccm, c.Params.Number("replicas"))
		},
		Revert: func(ctx context.Context, c *fault.Call, s *scaled) error {
			defer causing(c, ccm)()
			if c.Ground.Processes.Replicas(ccm) <= s.Before {
				return nil
			}
			return c.Ground.Processes.Scale(ctx, ccm, s.Before)
		},
	})
}
