package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// Kind is a kind of fault. Create one with [New].
type Kind struct {
	// Name is dotted lower case, the object first: vm.power-off, vcenter.latency.
	Name string
	// Short says in one line what happens: "powers VMs off, as pulling the plug does".
	Short string
	// Long is what else a user wants to know: what vSphere shows, what Kubernetes will make of it, how it ends.
	Long string
	// Object is the kind of the targets.
	Object Object
	// Params are the parameters, in the order of the help.
	Params []Param
	// Needs lists what a ground must offer. Empty: the APIs suffice.
	Needs []Need
	// Touches is the aspect of a target that changes ("power", "guest", "identity"): two leases of one target that touch the same
	// aspect exclude each other. Empty: it excludes nothing.
	Touches string
	// Component, if not nil, returns the component of the sandbox that is touched, or "", for kinds that reach the same component
	// through different objects, such as a kubelet through its VM and its Node.
	Component func(Item) string
	// Whole faults take the target away and bring it back as it was then: what another lease has changed of it would stay.
	// So they go with no other lease that touches the target itself.
	Whole bool
	// Momentary faults end when they are applied, such as a reset. They revert nothing.
	Momentary bool
	// Reported lists the issues in which users reported it: "cloud-provider-vsphere#642".
	Reported []string

	steps steps
}

// Steps are the actions of a kind on one target. S is the state that Revert needs, stored as JSON.
type Steps[S any] struct {
	// Plan checks the target without touching it. It returns the state to restore and a description of the change, such as "power
	// off (is on)". It refuses with [Refuse].
	Plan func(ctx context.Context, c *Call) (before S, does string, err error)
	// Apply makes the change and returns when it is complete: a task has ended, a process has exited. It may extend the state. If
	// it fails, Revert is called.
	Apply func(ctx context.Context, c *Call, s *S) error
	// Run, if not nil, runs from the end of Apply until ctx ends, which is the end of the lease. It returns soon after that.
	Run func(ctx context.Context, c *Call, s *S) error
	// Revert restores the target. It must succeed if that was done already, if Apply did only half, or if the target is gone. Nil
	// for momentary kinds.
	Revert func(ctx context.Context, c *Call, s *S) error
}

// Call is one fault on one target.
type Call struct {
	Ground *Ground
	Target Item
	Params Values
	// Lease is the ID of the lease; kinds name what they create after it.
	Lease string
	// Rand draws the same numbers for the same seed and target.
	Rand *rand.Rand
	// Seq is the event of the injection or healing, which causes what follows.
	Seq uint64

	turns *turns
}

// Note appends an event to the log, caused by the call.
func (c *Call) Note(kind string, level event.Level, format string, args ...any) uint64 {
	return c.Ground.Events.Append(event.Event{
		Plane: event.PlaneSandbox, Level: level, Kind: kind, Object: c.Target.Event(), Cause: c.Seq, Message: fmt.Sprintf(format, args...),
	})
}

// steps are Steps with JSON as the state.
type steps struct {
	plan               func(context.Context, *Call) (json.RawMessage, string, error)
	apply, run, revert func(context.Context, *Call, json.RawMessage) (json.RawMessage, error)
}

// New returns the kind k with the steps s.
func New[S any](k Kind, s Steps[S]) *Kind {
	wrap := func(f func(context.Context, *Call, *S) error) func(context.Context, *Call, json.RawMessage) (json.RawMessage, error) {
		if f == nil {
			return nil
		}
		return func(ctx context.Context, c *Call, raw json.RawMessage) (json.RawMessage, error) {
			var state S
			if err := json.Unmarshal(raw, &state); err != nil {
				return raw, fmt.Errorf("state of %s: %w", k.Name, err)
			}
			err := f(ctx, c, &state)
			after, merr := json.Marshal(state)
			if merr != nil {
				return raw, fmt.Errorf("state of %s: %w", k.Name, merr)
			}
			return after, err
		}
	}
	k.steps = steps{
		plan: func(ctx context.Context, c *Call) (json.RawMessage, string, error) {
			state, does, err := s.Plan(ctx, c)
			if err != nil {
				return nil, "", err
			}
			raw, err := json.Marshal(state)
			return raw, does, err
		},
		apply: wrap(s.Apply), run: wrap(s.Run), revert: wrap(s.Revert),
	}
	return &k
}
