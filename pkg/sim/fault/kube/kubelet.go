package kube

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// kubelet is the component that is the target, kubeletOf that of a Node: it can be reached through its VM, too.
func kubelet(c *fault.Call) string     { return kubeletOf(c.Target) }
func kubeletOf(node fault.Item) string { return "node/" + node.Name }

// planKubelet plans what is done to its process.
func planKubelet(does string) func(context.Context, *fault.Call) (nothing, string, error) {
	return func(_ context.Context, c *fault.Call) (s nothing, _ string, err error) {
		return s, does, running(c, kubelet(c))
	}
}

func kubeletKilled() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.kubelet-killed", Object: fault.Node, Needs: []fault.Need{fault.Kubelets}, Touches: "process", Component: kubeletOf, Momentary: true,
		Short: "kills kubelets, which are started again after a while",
		Long:  "The VM runs on and vSphere sees nothing. One kill is over before Kubernetes notices; the node must not lose what the cloud provider gave it.",
	}, fault.Steps[nothing]{
		Plan: planKubelet("kill its kubelet"),
		Apply: func(_ context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, kubelet(c))()
			return c.Ground.Processes.Kill(kubelet(c))
		},
	})
}

func kubeletPaused() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.kubelet-paused", Object: fault.Node, Needs: []fault.Need{fault.Kubelets}, Touches: "process", Component: kubeletOf,
		Short: "has kubelets stand still",
		Long: "The node's heartbeat stops, while vSphere sees a VM that runs. Kubernetes finds the node not ready; the cloud provider must neither taint it " +
			"as shut down nor delete it. Powering the VM off or resetting it ends the pause.",
	}, fault.Steps[nothing]{
		Plan: planKubelet("stop its kubelet where it stands"),
		Apply: func(_ context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, kubelet(c))()
			return c.Ground.Processes.Pause(kubelet(c))
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, kubelet(c))()
			return still(c, kubelet(c), c.Ground.Processes.Resume(kubelet(c)))
		},
	})
}

func nodeUnreachable() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.api-unreachable", Object: fault.Node, Needs: []fault.Need{fault.Kubelets}, Touches: "network", Component: kubeletOf,
		Short: "cuts the way of kubelets to the API server",
		Long: "The kubelet runs and cannot tell anybody. Kubernetes finds the node not ready and taints it as unreachable; vSphere sees nothing of it, so that " +
			"the cloud provider must leave the Node alone. Healing mends the way; connections that packets were lost on are reset then.",
		Params: []fault.Param{silently()},
	}, fault.Steps[nothing]{
		Plan: func(_ context.Context, c *fault.Call) (s nothing, _ string, err error) {
			if c.Ground.Processes.Replicas(kubelet(c)) == 0 { // one that starts again meanwhile will do
				err = fault.Refuse("node %q: the sandbox runs no kubelet for it now", c.Target.Name)
			}
			return s, "cut its way to the API server", err
		},
		Apply: func(_ context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, kubelet(c))()
			return c.Ground.Processes.Cut(kubelet(c), c.Params.Bool("silent"))
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, kubelet(c))()
			return still(c, kubelet(c), c.Ground.Processes.Mend(kubelet(c)))
		},
	})
}
