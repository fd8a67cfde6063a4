package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// Kind is a kind of fault. Make one with [New].
type Kind struct {
	// Name is dotted lower case, the object first: vm.power-off, vcenter.latency.
	Name string
	// Short says in one line what happens: "powers VMs off, as pulling the plug does".
	Short string
	// Long is what else a user wants to know: what vSphere shows, what Kubernetes will make of it, how it ends.
	Long string
	// Object is what it happens to.
	Object Object
	// Params are what can be said of it, in the order of the help.
	Params []Param
	// Needs is what a ground must have for it. None: the APIs alone do.
	Needs []Need
	// Touches is what it changes of a target ("power", "guest", "identity"): two leases of one target that touch the same
	// exclude each other. Empty: it goes with everything.
	Touches string
	// Component, if not nil, names the component of the sandbox that is touched, for kinds that reach the same one through
	// different objects: a kubelet through its VM and through its Node. It returns "" for a target that is no such component.
	Component func(Item) string
	// Whole faults take the target away and bring it back as it was then: what another lease has changed of it would stay.
	// So they go with no other lease that touches the target itself.
	Whole bool
	// Momentary faults are over when they are applied, with nothing to revert: a reset.
	Momentary bool
	// Reported are the places where people met it: "cloud-provider-vsphere#642".
	Reported []string

	steps steps
}

// Steps are what a kind does to one target; S is what it has to remember for the way back, and is kept as JSON.
type Steps[S any] struct {
	// Plan checks whether it can be done to the target, touches nothing, and returns the state to go back to and what
	// will be done in words: "power off (is on)". Its refusals are made with [Refuse].
	Plan func(ctx context.Context, c *Call) (before S, does string, err error)
	// Apply does it, and returns when it is done: a task has ended, a process is gone. It may add to the state what is
	// known only then. When it fails half-way, Revert is called.
	Apply func(ctx context.Context, c *Call, s *S) error
	// Run, if not nil, goes on for as long as the lease lasts, from Apply until ctx ends; it returns soon after that.
	Run func(ctx context.Context, c *Call, s *S) error
	// Revert puts the target back, and must not mind that this was done already, that Apply did only half of it, or that
	// the target is gone. Nil for momentary kinds.
	Revert func(ctx context.Context, c *Call, s *S) error
}

// Call is one fault on one target.
type Call struct {
	Ground *Ground
	Target Item
	Params Values
	// Lease is the lease's ID: a name for what is made for it.
	Lease string
	// Rand draws the same numbers for the same seed and target.
	Rand *rand.Rand
	// Seq is the event of the injection, or of the healing: the cause of what happens.
	Seq uint64

	turns *turns
}

// Note appends to the log, as a consequence of the call.
func (c *Call) Note(kind string, level event.Level, format string, args ...any) uint64 {
	return c.Ground.Events.Append(event.Event{
		Plane: event.PlaneSandbox, Level: level, Kind: kind, Object: c.Target.Event(), Cause: c.Seq, Message: fmt.Sprintf(format, args...),
	})
}

// steps are Steps with the state as JSON.
type steps struct {
	plan               func(context.Context, *Call) (json.RawMessage, string, error)
	apply, run, revert func(context.Context, *Call, json.RawMessage) (json.RawMessage, error)
}

// New completes a kind with what it does.
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
