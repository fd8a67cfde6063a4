package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

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
	// Aspect is the aspect of a target that changes ("power", "guest", "identity"): two leases of one target that touch the same
	// aspect exclude each other. Empty: it excludes nothing.
	Aspect string
	// Component, if not nil, returns the component of the sandbox that is touched, or "", for kinds that reach the same component
	// through different objects, such as a kubelet through its VM and its Node.
	Component func(Item) string
	// ReplacesTarget faults take the target away and bring it back as it was then: what another lease has changed of it would stay.
	// So they go with no other lease that touches the target itself.
	ReplacesTarget bool
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

// Type is the type of a parameter's value.
type Type string

// The types.
const (
	Text     Type = "text"
	Duration Type = "duration" // 250ms, 1m30s; not scaled by the sandbox's speed
	Number   Type = "number"   // a whole number, not negative
	Fraction Type = "fraction" // 0 to 1
	Bool     Type = "bool"
)

// Param is a parameter of a kind.
type Param struct {
	// Name is kebab case.
	Name string `json:"name"`
	// Short is a description in a few words.
	Short string `json:"short"`
	Type  Type   `json:"type"`
	// Default is the value if none is given. Required parameters have none.
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Choices are the allowed values, if they are few.
	Choices []string `json:"choices,omitempty"`
}

// Values are the parameters of a call, checked and completed with defaults: the getters cannot fail for parameters of the kind.
type Values map[string]string

// Text returns a parameter unchanged.
func (v Values) Text(name string) string { return v[name] }

// Duration returns a parameter as a duration.
func (v Values) Duration(name string) time.Duration {
	d, _ := time.ParseDuration(v[name]) // checked
	return d
}

// Number returns a parameter as a number.
func (v Values) Number(name string) int {
	n, _ := strconv.Atoi(v[name]) // checked
	return n
}

// Fraction returns a parameter as a fraction.
func (v Values) Fraction(name string) float64 {
	f, _ := strconv.ParseFloat(v[name], 64) // checked
	return f
}

// Bool returns a parameter as a boolean.
func (v Values) Bool(name string) bool { return v[name] == "true" }

// Object is a kind of target.
type Object string

// The kinds of targets. Sandbox is the whole sandbox, for faults without another target.
const (
	VM         Object = "VM"
	Host       Object = "Host"
	Cluster    Object = "Cluster" // a compute cluster
	Datacenter Object = "Datacenter"
	Datastore  Object = "Datastore"
	Volume     Object = "Volume" // one that CNS knows
	Zone       Object = "Zone"
	VCenter    Object = "VCenter"
	NSX        Object = "NSXManager"
	Node       Object = "Node"
	Component  Object = "Component"
	Sandbox    Object = "Sandbox"
)

// Item is an object that a fault can target. Fields that do not apply are empty.
type Item struct {
	Kind Object `json:"kind"`
	// VCenter is its vCenter; empty for objects of no vCenter or of several.
	VCenter string `json:"vcenter,omitempty"`
	Name    string `json:"name"`
	// Path is the inventory path, Ref the reference: for objects of a vCenter only.
	Path string                       `json:"path,omitempty"`
	Ref  types.ManagedObjectReference `json:"ref,omitzero"`

	// Datacenter, Cluster and Host are the names of what contains or runs it.
	Datacenter string `json:"datacenter,omitempty"`
	Cluster    string `json:"cluster,omitempty"`
	Host       string `json:"host,omitempty"`
	// Region and Zone are the values of its nearest tags.
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
	// ID is the ID of a volume, Claim its claim ("default/data"), if any.
	ID    string `json:"id,omitempty"`
	Claim string `json:"claim,omitempty"`
	// Node is the name of the VM's node, Role its role: control-plane or worker.
	Node string `json:"node,omitempty"`
	Role string `json:"role,omitempty"`
}

// Event returns the item as an object of events.
func (i Item) Event() event.Object {
	return event.Object{Kind: string(i.Kind), VCenter: i.VCenter, Name: i.Name}
}

// String returns the item's display name: us/worker-1.
func (i Item) String() string {
	if i.VCenter == "" || i.VCenter == i.Name {
		return i.Name
	}
	return i.VCenter + "/" + i.Name
}

// Lock takes the engine's lock with that name, for operations that must not run concurrently, and waits for it until ctx ends.
// Call end to release it; it must not be nested.
func (c *Call) Lock(ctx context.Context, name string) (end func(), err error) {
	if c.turns == nil { // a call without an engine
		return func() {}, ctx.Err()
	}
	turn := c.turns.of(name)
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// turns holds the locks by name: sending to a channel takes the lock.
type turns struct {
	mu    sync.Mutex
	named map[string]chan struct{}
}

func (t *turns) of(name string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.named == nil {
		t.named = make(map[string]chan struct{})
	}
	if t.named[name] == nil {
		t.named[name] = make(chan struct{}, 1)
	}
	return t.named[name]
}
