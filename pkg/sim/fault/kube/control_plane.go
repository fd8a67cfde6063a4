package kube

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// controlPlane is the component with etcd, kube-apiserver, kube-controller-manager and kube-scheduler.
const controlPlane = "control-plane"

func controlPlaneRestart() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "control-plane.restart", Object: fault.Sandbox, Needs: []fault.Need{fault.Children, fault.Clustered}, Aspect: controlPlane, Momentary: true,
		Short: "restarts the control plane, whose state is kept",
		Long: "etcd, kube-apiserver, kube-controller-manager and kube-scheduler end and start again, as in an upgrade of a cluster with one control-plane " +
			"node. What is in etcd is kept. Watches break and are opened again; a client that missed an event must list.",
		Params: []fault.Param{{Name: "kill", Short: "kills it instead of asking it to end", Type: fault.Bool, Default: "false"}},
	}, fault.Steps[nothing]{
		Plan: func(_ context.Context, c *fault.Call) (s nothing, does string, err error) {
			return s, "restart the control plane", running(c, controlPlane)
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, controlPlane)()
			restart := func() error { return c.Ground.Processes.Restart(ctx, controlPlane) }
			if c.Params.Bool("kill") {
				restart = func() error { return c.Ground.Processes.Kill(ctx, controlPlane) }
			}
			if err := restart(); err != nil {
				return err
			}
			return answers(ctx, c)
		},
	})
}

// answers waits until the API server answers. It polls, because no watch exists before that.
func answers(ctx context.Context, c *fault.Call) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		once, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := c.Ground.Cluster.Client().CoreV1().Namespaces().Get(once, metav1.NamespaceSystem, metav1.GetOptions{})
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the API server does not answer: %w", err)
		}
	}
}

func controlPlanePaused() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "control-plane.paused", Object: fault.Sandbox, Needs: []fault.Need{fault.Children}, Aspect: controlPlane,
		Short: "has the control plane stand still: connections are made, and nothing answers",
		Long: "All of the control plane stops where it is, as on a machine that swaps itself to death. Clients wait until they lose patience. " +
			"Healing continues it from there: for its controllers no time has passed, while the leases of nodes have not been renewed.",
	}, fault.Steps[nothing]{
		Plan: func(_ context.Context, c *fault.Call) (s nothing, does string, err error) {
			return s, "stop the control plane where it stands", running(c, controlPlane)
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, controlPlane)()
			return c.Ground.Processes.Pause(ctx, controlPlane)
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, controlPlane)()
			return c.Ground.Processes.Resume(ctx, controlPlane)
		},
	})
}

func etcdSlow() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "etcd.slow", Object: fault.Sandbox, Needs: []fault.Need{fault.Children}, Aspect: "etcd",
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

// kubelet is the component of the target, kubeletOf that of a Node: it can also be reached through its VM.
func kubelet(c *fault.Call) string     { return kubeletOf(c.Target) }
func kubeletOf(node fault.Item) string { return "node/" + node.Name }

// planKubelet plans a change to the target's process.
func planKubelet(does string) func(context.Context, *fault.Call) (nothing, string, error) {
	return func(_ context.Context, c *fault.Call) (s nothing, _ string, err error) {
		return s, does, running(c, kubelet(c))
	}
}

func kubeletKilled() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.kubelet-killed", Object: fault.Node, Needs: []fault.Need{fault.Kubelets}, Aspect: "process", Component: kubeletOf, Momentary: true,
		Short: "kills kubelets, which are started again after a while",
		Long:  "The VM runs on and vSphere sees nothing. One kill is over before Kubernetes notices; the node must not lose what the cloud provider gave it.",
	}, fault.Steps[nothing]{
		Plan: planKubelet("kill its kubelet"),
		Apply: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, kubelet(c))()
			return c.Ground.Processes.Kill(ctx, kubelet(c))
		},
	})
}

func kubeletPaused() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.kubelet-paused", Object: fault.Node, Needs: []fault.Need{fault.Kubelets}, Aspect: "process", Component: kubeletOf,
		Short: "has kubelets stand still",
		Long: "The node's heartbeat stops, while vSphere sees a VM that runs. Kubernetes finds the node not ready; the cloud provider must neither taint it " +
			"as shut down nor delete it. Powering the VM off or resetting it ends the pause.",
	}, fault.Steps[nothing]{
		Plan: planKubelet("stop its kubelet where it stands"),
		Apply: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, kubelet(c))()
			return c.Ground.Processes.Pause(ctx, kubelet(c))
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, kubelet(c))()
			return still(c, kubelet(c), c.Ground.Processes.Resume(ctx, kubelet(c)))
		},
	})
}

func nodeUnreachable() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.api-unreachable", Object: fault.Node, Needs: []fault.Need{fault.Kubelets}, Aspect: "network", Component: kubeletOf,
		Short: "cuts the way of kubelets to the API server",
		Long: "The kubelet runs and cannot tell anybody. Kubernetes finds the node not ready and taints it as unreachable; vSphere sees nothing of it, so that " +
			"the cloud provider must leave the Node alone. Healing mends the way; connections that packets were lost on are reset then.",
		Params: []fault.Param{silently()},
	}, fault.Steps[nothing]{
		Plan: func(_ context.Context, c *fault.Call) (s nothing, _ string, err error) {
			if c.Ground.Processes.Replicas(kubelet(c)) == 0 { // a restarted one has the right state already
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
			return still(c, kubelet(c), c.Ground.Processes.Restore(kubelet(c)))
		},
	})
}
