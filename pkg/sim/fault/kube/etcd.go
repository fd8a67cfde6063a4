package kube

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

func etcdSlow() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "etcd.slow", Object: fault.Sandbox, Needs: []fault.Need{fault.Children}, Touches: "etcd",
		Short: "has etcd take its time for every request of the API server",
		Long: "Every read and write of the API server that goes to etcd takes so much longer, as with a slow disk; any number may wait at once. " +
			"Watches tell of a change as soon as it is stored. From two seconds on the API server says that it is not ready. " +
			"It outlasts a restart of the control plane.",
		Params: []fault.Param{{Name: "latency", Short: "how much longer a request takes", Type: fault.Duration, Default: "500ms"}},
	}, fault.Steps[nothing]{
		Plan: func(_ context.Context, c *fault.Call) (s nothing, does string, err error) {
			if _, ok := c.Ground.Processes.(slower); !ok {
				return s, "", &fault.Refusal{Code: "unsupported", Message: "etcd is none that the sandbox can slow down"}
			}
			d := c.Params.Duration("latency")
			if d == 0 {
				return s, "", &fault.Refusal{Code: "invalid", Message: "etcd.slow: parameter \"latency\": 0 slows nothing down"}
			}
			return s, fmt.Sprintf("every request to etcd takes %s longer", d), nil
		},
		Apply: func(_ context.Context, c *fault.Call, _ *nothing) error {
			return c.Ground.Processes.(slower).SlowEtcd(c.Params.Duration("latency")) // it is one: planned
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error {
			p, ok := c.Ground.Processes.(slower)
			if !ok {
				return nil
			}
			return p.SlowEtcd(0)
		},
	})
}
