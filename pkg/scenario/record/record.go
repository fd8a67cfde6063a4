package record

import (
	"context"
	"errors"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Sandbox is what is recorded: an [api.Client].
type Sandbox interface {
	Status(ctx context.Context) (api.Status, error)
	Watch(ctx context.Context, after uint64, f func(api.Update) error) error
}

// Options say what is recorded.
type Options struct {
	// Name is the scenario's; default: recorded. Topology is what stands after topology:, a name or a file; default: the
	// name of the topology that the sandbox runs.
	Name, Topology string
	// Since is the event after which recording begins; 0 is the beginning of the sandbox.
	Since uint64
	// Follow goes on until the context ends. Without it, what has happened already is recorded.
	Follow bool
	// OnAct, if not nil, is told each thing that was done, as it is seen.
	OnAct func(text string)
}

// errSynced ends the reading of a stream at what there is.
var errSynced = errors.New("synced")

// Record reads what was done, and returns it as the text of a scenario. With Follow, the end of the context is the end of
// the recording and no error.
func Record(ctx context.Context, sandbox Sandbox, o Options) ([]byte, error) {
	status, err := sandbox.Status(ctx)
	if err != nil {
		return nil, err
	}
	if o.Topology == "" {
		o.Topology = status.Scenario
	}
	if o.Name == "" {
		o.Name = "recorded"
	}
	t := &tape{leases: map[string]api.Lease{}, began: time.Now()}
	told := map[string]bool{}
	err = sandbox.Watch(ctx, o.Since, func(u api.Update) error {
		t.take(u)
		if o.OnAct != nil && (u.Event != nil || u.Lease != nil) {
			for _, a := range t.acts() {
				if text := a.text(); !told[a.key()] {
					told[a.key()] = true
					o.OnAct(text)
				}
			}
		}
		if u.Synced && !o.Follow {
			return errSynced
		}
		return nil
	})
	if err != nil && !errors.Is(err, errSynced) && ctx.Err() == nil {
		return nil, err
	}
	return t.draft(o)
}

// tape is what was told of a sandbox.
type tape struct {
	events []event.Event
	leases map[string]api.Lease
	began  time.Time
}

func (t *tape) take(u api.Update) {
	if u.Event != nil {
		t.events = append(t.events, *u.Event)
	}
	if u.Lease != nil && !u.Deleted {
		t.leases[u.Lease.ID] = *u.Lease
	}
}
