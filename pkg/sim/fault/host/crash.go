package host

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

func crash() *fault.Kind {
	return one(fault.Kind{
		Name:  "host.crash",
		Short: "crashes hosts; their VMs die with them",
		Long: `vCenter shows the host as not responding and its VMs as disconnected, with the last power state that it knew: on.
In a cluster with HA they are restarted on other hosts; without, their nodes become unreachable and stay.
Healing boots the host and powers on what ran there, except VMs that HA has restarted elsewhere: those stay there.`,
		Reported: []string{"vsphere-csi-driver#221", "kubernetes#50944"},
	}, "crash; %s on it will die", func(ctx context.Context, ep *fault.Endpoint, l *lost) error {
		return ep.Sim.CrashHost(ctx, l.Ref)
	})
}

// one makes a kind that takes down the host that is its target.
func one(k fault.Kind, does string, down func(context.Context, *fault.Endpoint, *lost) error) *fault.Kind {
	k.Object, k.Needs, k.Touches = fault.Host, []fault.Need{fault.Simulator}, "host"
	return fault.New(k, fault.Steps[lost]{
		Plan: func(ctx context.Context, c *fault.Call) (lost, string, error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return lost{}, "", err
			}
			h, on, err := look(ctx, ep, c.Target.Ref)
			if err != nil {
				return lost{}, "", err
			}
			if err := inOrder(h); err != nil {
				return lost{}, "", err
			}
			return note(ep, h, on), fmt.Sprintf(does, count(len(on))), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, l *lost) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, l.Ref)()
			return down(ctx, ep, l)
		},
		Revert: func(ctx context.Context, c *fault.Call, l *lost) error { return l.bring(ctx, c) },
	})
}
