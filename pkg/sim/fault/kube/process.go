package kube

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// What can be done to any process of the sandbox that is no kubelet: the kinds of the cloud controller manager and those of
// the CSI driver differ in which one is meant, and in what comes of it.

// one is the state of what is done to one process.
type one struct {
	Component string `json:"component"`
}

// picker chooses the process that a call is about.
type picker func(*fault.Call) (one, error)

// plan plans what is done to it: does is what, before its name.
func (p picker) plan(does string) func(context.Context, *fault.Call) (one, string, error) {
	return func(_ context.Context, c *fault.Call) (one, string, error) {
		o, err := p(c)
		return o, does + " " + o.Component, err
	}
}

// planRunning is plan for what takes a process that runs.
func (p picker) planRunning(does string) func(context.Context, *fault.Call) (one, string, error) {
	return func(_ context.Context, c *fault.Call) (one, string, error) {
		o, err := p(c)
		if err == nil {
			err = running(c, o.Component)
		}
		return o, does + " " + o.Component, err
	}
}

// still returns the error of putting a process right, unless there is none any more to put right.
func still(c *fault.Call, component string, err error) error {
	if err != nil && c.Ground.Processes.Replicas(component) == 0 {
		return nil
	}
	return err
}

// restart restarts a process, if it is there.
func restart(ctx context.Context, c *fault.Call, component string) error {
	defer causing(c, component)()
	return still(c, component, c.Ground.Processes.Restart(ctx, component))
}

// killed completes a kind that kills a process once.
func killed(k fault.Kind, which picker) *fault.Kind {
	k.Momentary = true
	return fault.New(k, fault.Steps[one]{
		Plan: which.planRunning("kill"),
		Apply: func(_ context.Context, c *fault.Call, o *one) error {
			defer causing(c, o.Component)()
			return c.Ground.Processes.Kill(o.Component)
		},
	})
}

// paused completes a kind that has a process stand still.
func paused(k fault.Kind, which picker) *fault.Kind {
	return fault.New(k, fault.Steps[one]{
		Plan: which.planRunning("stop where it stands:"),
		Apply: func(_ context.Context, c *fault.Call, o *one) error {
			defer causing(c, o.Component)()
			return c.Ground.Processes.Pause(o.Component)
		},
		Revert: func(_ context.Context, c *fault.Call, o *one) error {
			defer causing(c, o.Component)()
			return still(c, o.Component, c.Ground.Processes.Resume(o.Component))
		},
	})
}

// unreachable completes a kind that cuts the way of a process to the API server; it has the parameter of [silently].
func unreachable(k fault.Kind, which picker) *fault.Kind {
	return fault.New(k, fault.Steps[one]{
		Plan: which.plan("cut the way to the API server of"),
		Apply: func(_ context.Context, c *fault.Call, o *one) error {
			defer causing(c, o.Component)()
			return c.Ground.Processes.Cut(o.Component, c.Params.Bool("silent"))
		},
		Revert: func(_ context.Context, c *fault.Call, o *one) error {
			defer causing(c, o.Component)()
			return still(c, o.Component, c.Ground.Processes.Mend(o.Component))
		},
	})
}

// lives is the parameter of a crash loop.
func lives() fault.Param {
	return fault.Param{Name: "after", Short: "how long it lives each time", Type: fault.Duration, Default: "0s"}
}

// crashLoop completes a kind that kills a process whenever it has come up; it has the parameter of [lives].
func crashLoop(k fault.Kind, which picker) *fault.Kind {
	return fault.New(k, fault.Steps[one]{
		Plan: which.planRunning("kill, whenever it has come up:"),
		Apply: func(_ context.Context, c *fault.Call, o *one) error {
			defer causing(c, o.Component)()
			return c.Ground.Processes.Kill(o.Component)
		},
		Run:    killAgain,
		Revert: func(ctx context.Context, c *fault.Call, o *one) error { return restart(ctx, c, o.Component) },
	})
}

// killAgain kills a process whenever it has come up, until ctx ends.
func killAgain(ctx context.Context, c *fault.Call, o *one) error {
	defer causing(c, o.Component)()
	for seq := c.Seq; ; {
		events, _, err := c.Ground.Events.Wait(ctx, seq, 0)
		if err != nil {
			return nil // it ends with the lease
		}
		seq = events[len(events)-1].Seq
		if !cameUp(events, o.Component) {
			continue
		}
		if backoff.Sleep(ctx, c.Params.Duration("after")) != nil {
			return nil //nolint:nilerr // it ends with the lease
		}
		// One that has died meanwhile by itself is as dead as it can be.
		_ = c.Ground.Processes.Kill(o.Component)
	}
}

// cameUp reports whether what happened last to a component is that it was started.
func cameUp(events []event.Event, component string) bool {
	up := false
	for _, e := range events {
		if e.Object.Kind != "Component" || e.Object.Name != component {
			continue
		}
		switch e.Kind {
		case "child.started":
			up = true
		case "child.exited", "child.stopped":
			up = false
		}
	}
	return up
}
