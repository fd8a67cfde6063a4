package kube

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

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
