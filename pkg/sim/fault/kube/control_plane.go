package kube

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// controlPlane is the component: etcd, kube-apiserver, kube-controller-manager and kube-scheduler.
const controlPlane = "control-plane"

func controlPlaneRestart() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "control-plane.restart", Object: fault.Sandbox, Needs: []fault.Need{fault.Children, fault.Clustered}, Touches: controlPlane, Momentary: true,
		Short: "restarts the control plane, whose state is kept",
		Long: "etcd, kube-apiserver, kube-controller-manager and kube-scheduler end and start again, as in an upgrade of a cluster with one control-plane " +
			"node. What is in etcd is kept. Watches break and are made again; whoever has missed an event has to list.",
		Params: []fault.Param{{Name: "kill", Short: "kills it instead of asking it to end", Type: fault.Bool, Default: "false"}},
	}, fault.Steps[nothing]{
		Plan: func(_ context.Context, c *fault.Call) (s nothing, does string, err error) {
			return s, "restart the control plane", running(c, controlPlane)
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, controlPlane)()
			restart := func() error { return c.Ground.Processes.Restart(ctx, controlPlane) }
			if c.Params.Bool("kill") {
				restart = func() error { return c.Ground.Processes.Kill(controlPlane) }
			}
			if err := restart(); err != nil {
				return err
			}
			return answers(ctx, c)
		},
	})
}

// answers waits until the API server does. There is nothing to watch before it does, so it is asked, often.
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
		Name: "control-plane.paused", Object: fault.Sandbox, Needs: []fault.Need{fault.Children}, Touches: controlPlane,
		Short: "has the control plane stand still: connections are made, and nothing answers",
		Long: "All of the control plane stops where it is, as on a machine that swaps itself to death. Clients wait until they lose patience. " +
			"Healing lets it go on from there: for its controllers no time has passed, while the leases of nodes have not been renewed.",
	}, fault.Steps[nothing]{
		Plan: func(_ context.Context, c *fault.Call) (s nothing, does string, err error) {
			return s, "stop the control plane where it stands", running(c, controlPlane)
		},
		Apply: func(_ context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, controlPlane)()
			return c.Ground.Processes.Pause(controlPlane)
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, controlPlane)()
			return c.Ground.Processes.Resume(controlPlane)
		},
	})
}
