package kube

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// The kinds of the cloud controller manager and of the CSI driver share these; they differ in the process and in the
// consequences.

// one is the state of a fault of one process.
type one struct {
	Component string `json:"component"`
}

// picker returns the process of a call.
type picker func(*fault.Call) (one, error)

// plan plans a change to the process; does precedes its name in the description.
func (p picker) plan(does string) func(context.Context, *fault.Call) (one, string, error) {
	return func(_ context.Context, c *fault.Call) (one, string, error) {
		o, err := p(c)
		return o, does + " " + o.Component, err
	}
}

// planRunning is plan for a process that must run.
func (p picker) planRunning(does string) func(context.Context, *fault.Call) (one, string, error) {
	return func(_ context.Context, c *fault.Call) (one, string, error) {
		o, err := p(c)
		if err == nil {
			err = running(c, o.Component)
		}
		return o, does + " " + o.Component, err
	}
}

// still ignores an error if the process does not exist any more.
func still(c *fault.Call, component string, err error) error {
	if err != nil && c.Ground.Processes.Replicas(component) == 0 {
		return nil
	}
	return err
}

// restart restarts a process, if it exists.
func restart(ctx context.Context, c *fault.Call, component string) error {
	defer causing(c, component)()
	return still(c, component, c.Ground.Processes.Restart(ctx, component))
}

// killed returns a kind that kills a process once.
func killed(k fault.Kind, which picker) *fault.Kind {
	k.Momentary = true
	return fault.New(k, fault.Steps[one]{
		Plan: which.planRunning("kill"),
		Apply: func(ctx context.Context, c *fault.Call, o *one) error {
			defer causing(c, o.Component)()
			return c.Ground.Processes.Kill(ctx, o.Component)
		},
	})
}

// paused returns a kind that pauses a process.
func paused(k fault.Kind, which picker) *fault.Kind {
	return fault.New(k, fault.Steps[one]{
		Plan: which.planRunning("stop where it stands:"),
		Apply: func(ctx context.Context, c *fault.Call, o *one) error {
			defer causing(c, o.Component)()
			return c.Ground.Processes.Pause(ctx, o.Component)
		},
		Revert: func(ctx context.Context, c *fault.Call, o *one) error {
			defer causing(c, o.Component)()
			return still(c, o.Component, c.Ground.Processes.Resume(ctx, o.Component))
		},
	})
}

// unreachable returns a kind that cuts a process off from the API server; it has the parameter of [silently].
func unreachable(k fault.Kind, which picker) *fault.Kind {
	return fault.New(k, fault.Steps[one]{
		Plan: which.plan("cut the way to the API server of"),
		Apply: func(_ context.Context, c *fault.Call, o *one) error {
			defer causing(c, o.Component)()
			return c.Ground.Processes.Cut(o.Component, c.Params.Bool("silent"))
		},
		Revert: func(_ context.Context, c *fault.Call, o *one) error {
			defer causing(c, o.Component)()
			return still(c, o.Component, c.Ground.Processes.Restore(o.Component))
		},
	})
}

// lives returns the parameter of a crash loop.
func lives() fault.Param {
	return fault.Param{Name: "after", Short: "how long it lives each time", Type: fault.Duration, Default: "0s"}
}

// crashLoop returns a kind that kills a process each time after it has started; it has the parameter of [lives].
func crashLoop(k fault.Kind, which picker) *fault.Kind {
	return fault.New(k, fault.Steps[one]{
		Plan: which.planRunning("kill, whenever it has come up:"),
		Apply: func(ctx context.Context, c *fault.Call, o *one) error {
			defer causing(c, o.Component)()
			return c.Ground.Processes.Kill(ctx, o.Component)
		},
		Run:    killAgain,
		Revert: func(ctx context.Context, c *fault.Call, o *one) error { return restart(ctx, c, o.Component) },
	})
}

// killAgain kills a process each time after it has started, until ctx ends.
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
		// It may have died already.
		_ = c.Ground.Processes.Kill(ctx, o.Component)
	}
}

// cameUp reports whether the last event of a component is its start.
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

// nothing is an empty state.
type nothing struct{}

// Optional abilities of a ground's processes, beyond [fault.Processes].
type (
	causer interface {
		Causing(component string, seq uint64) func()
	}
	leader  interface{ Leader(component string) string }
	slower  interface{ SlowEtcd(d time.Duration) error }
	renewer interface {
		RenewToken(ctx context.Context, component string) error
	}
)

// causing makes the call the cause of what happens to a component, until release is called.
func causing(c *fault.Call, component string) (release func()) {
	if p, ok := c.Ground.Processes.(causer); ok {
		return p.Causing(component, c.Seq)
	}
	return func() {}
}

// running refuses a component without a process; the error names it.
func running(c *fault.Call, component string) error {
	if err := c.Ground.Processes.Running(component); err != nil {
		return fault.Refuse("%v", err)
	}
	return nil
}

// report appends an event about an object, caused by the call, and makes it the cause of what follows.
func report(c *fault.Call, kind string, object event.Object, message string) {
	c.Ground.Events.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: kind, Object: object, Cause: c.Seq, Message: message,
	})
}

// silently returns the parameter of kinds that cut a connection.
func silently() fault.Param {
	return fault.Param{Name: "silent", Short: "packets vanish; otherwise connections are reset and none is made", Type: fault.Bool, Default: "true"}
}

// Kinds returns the faults of the cluster.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		controlPlaneRestart(), controlPlanePaused(), etcdSlow(),
		ccmKilled(), ccmPaused(), ccmCrashLoop(), ccmTwice(), ccmUnreachable(), ccmTokenRevoked(),
		csiKilled(), csiPaused(), csiCrashLoop(), csiUnreachable(), csiTokenRevoked(),
		kubeletKilled(), kubeletPaused(), nodeUnreachable(),
		nodeUninitialized(), nodeTainted(), nodeDeleted(), nodeForeign(),
		linkWithheld(), csiUnregistered(), csiNodeDeleted(),
		unknownPolicy(), topologyKindDeleted(),
		ruleRemoved(), bindingRemoved(),
		secretDeleted(), secretMalformed(), configDeleted(), configMalformed(),
	}
}
