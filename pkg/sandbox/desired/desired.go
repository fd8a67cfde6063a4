// Package desired keeps the topology that the inventories of a sandbox should have, and applies another topology to the
// running sandbox.
//
// Floor 3.
package desired

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/apply"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// maxTopology bounds the body of a request with a topology, in bytes. A topology of 10,000 VMs takes a tenth of it.
const maxTopology = 64 << 20

// State is the desired state of the inventories. Make it with [New]. Its methods may be called from any goroutine.
type State struct {
	Log   *event.Log
	Phase func() api.Phase
	// VCenters is empty as long as their inventories are not watched.
	VCenters func() vcenters.List
	// Builder returns an error where the inventories cannot be changed.
	Builder func() (vcenters.Builder, error)
	// Light: all Nodes of a topology become light ones.
	Light bool
	// NamesFree returns an error when a VM of a topology would be a Node whose name is taken.
	NamesFree func(context.Context, *topology.Topology) error
	// AssignRoles decides which VMs are Nodes, by a topology and the one that it replaces, which may be nil.
	AssignRoles func(top, passing *topology.Topology)
	// Applied is called when a topology has been applied.
	Applied func(context.Context) error

	mu      sync.Mutex
	current *topology.Topology

	applying  sync.Mutex           // held while a topology is applied; guards attempted
	attempted []*topology.Topology // begun after current, and not finished
}

// New returns the desired state of a topology.
func New(top *topology.Topology) *State { return &State{current: top} }

// Topology returns the topology that was applied last.
func (s *State) Topology() *topology.Topology {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// Hold keeps topologies from being applied until release is called; false if one is being applied.
func (s *State) Hold() (release func(), ok bool) {
	if !s.applying.TryLock() {
		return nil, false
	}
	return s.applying.Unlock, true
}

// Reset sets the topology that a restored sandbox has. The caller holds the state.
func (s *State) Reset(top *topology.Topology) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.attempted = top, nil
}

// Register adds the handlers of the control API.
func (s *State) Register(mux *http.ServeMux) {
	mux.Handle("POST /v1/topology", s)
	mux.Handle("GET /v1/topology", control.Answer(func(context.Context) (api.Topology, error) {
		text, err := topology.Marshal(s.Topology())
		return api.Topology{Topology: string(text)}, err
	}))
}

// console is the sandbox's own connection to a vCenter, for changes of any length.
type console struct{ *vcenters.VCenter }

// Do implements [apply.Client]. It has no deadline: a task may take longer than a call.
func (c console) Do(ctx context.Context, f func(context.Context, *vim25.Client) error) error {
	session, err := c.Client.Session()
	if err != nil {
		return err
	}
	return f(ctx, session.Vim)
}

// DoREST implements [apply.Client].
func (c console) DoREST(ctx context.Context, f func(context.Context, *rest.Client) error) error {
	return c.Client.DoREST(ctx, f)
}

// ServeHTTP answers a request to change the inventories, with an error or with lines.
func (s *State) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req api.ApplyRequest
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxTopology))
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		control.Reply(w, nil, &api.Error{Code: "invalid", Message: "request: " + err.Error()})
		return
	}
	// A plan is only valid while no other plan runs.
	if !s.applying.TryLock() {
		control.Reply(w, nil, api.Conflict("a topology is being applied already"))
		return
	}
	release := sync.OnceFunc(s.applying.Unlock) // before the last line: a client that has read it may send its next request
	defer release()
	top, plan, err := s.plan(r.Context(), req)
	if err != nil {
		release()
		control.Reply(w, nil, err)
		return
	}
	w.Header().Set("Content-Type", "application/jsonl")
	enc, flush := json.NewEncoder(w), http.NewResponseController(w).Flush
	send := func(line api.ApplyLine) {
		// A client that has left ends the context of the request, too.
		if enc.Encode(line) == nil {
			_ = flush()
		}
	}
	steps := plan.Steps()
	changes := make([]api.Change, len(steps))
	for i, step := range steps {
		changes[i] = api.Change{
			Op: string(step.Op), Kind: string(step.Kind), VCenter: step.VCenter, Path: step.Path, What: step.What, PowerOff: step.PowerOff,
		}
	}
	send(api.ApplyLine{Changes: changes})
	if req.DryRun {
		release()
		send(api.ApplyLine{End: true})
		return
	}
	done, err := s.run(r.Context(), top, plan, func(done int) { send(api.ApplyLine{Done: done}) })
	last := api.ApplyLine{Done: done, End: true}
	if err != nil {
		last.Error = &api.Error{
			Code: "conflict", Message: fmt.Sprintf("%d of %d changes are done, and then: %s", done, len(steps), vcenters.ErrorText(err)),
			Try: "vsphere-sandbox topology apply, with --dry-run, shows what is left",
		}
	}
	release()
	send(last)
}

// plan reads the topology and compares it with the inventories.
func (s *State) plan(ctx context.Context, req api.ApplyRequest) (*topology.Topology, *apply.Plan, error) {
	all := s.VCenters()
	if len(all) == 0 {
		return nil, nil, api.NotBuilt()
	}
	if _, err := s.Builder(); err != nil {
		return nil, nil, err
	}
	if phase := s.Phase(); phase != api.Ready {
		return nil, nil, &api.Error{Code: "unavailable", Message: "the sandbox is " + string(phase), Try: "vsphere-sandbox wait --for=ready"}
	}
	top, err := topology.Load("topology", []byte(req.Topology))
	if err != nil {
		return nil, nil, &api.Error{Code: "invalid", Message: err.Error()}
	}
	if s.Light {
		top.UseLightNodes()
	}
	if err := s.NamesFree(ctx, top); err != nil {
		return nil, nil, err
	}
	clients := map[string]apply.Client{}
	for _, vc := range all {
		clients[vc.Name()] = console{vc}
	}
	plan, err := apply.New(ctx, apply.Options{
		Topology: top, Current: s.Topology(), Attempted: s.attempted, Clients: clients, Prune: req.Prune,
	})
	if bad := (*apply.Unchangeable)(nil); errors.As(err, &bad) {
		return nil, nil, &api.Error{Code: "unchangeable", Message: bad.Error(), Try: "vsphere-sandbox down, then up with the topology"}
	}
	return top, plan, err
}

// run does the steps. VMs get their roles from the new topology before the first step: a VM that is created becomes a Node
// at once.
func (s *State) run(ctx context.Context, top *topology.Topology, plan *apply.Plan, progress func(done int)) (int, error) {
	steps := plan.Steps()
	begun := s.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "command.topology-apply",
		Message: fmt.Sprintf("apply topology %s: %d changes", top.Metadata.Name, len(steps)),
	})
	builder, err := s.Builder()
	if err != nil {
		return 0, err
	}
	s.AssignRoles(top, s.Topology())
	builder.Rack(top)
	s.attempted = append(s.attempted, top)
	done, err := plan.Run(ctx, func(n int, step apply.Step) {
		progress(n)
		s.Log.Append(event.Event{
			Plane: event.PlaneSandbox, Kind: "topology.step", Cause: begun,
			Object: event.Object{Kind: string(step.Kind), VCenter: step.VCenter, Name: step.Path}, Message: step.String(),
		})
	})
	if err != nil {
		s.Log.Append(event.Event{
			Plane: event.PlaneSandbox, Level: event.Warning, Kind: "topology.failed", Cause: begun,
			Message: fmt.Sprintf("%d of %d changes done: %s", done, len(steps), vcenters.ErrorText(err)),
		})
		return done, err
	}
	s.mu.Lock()
	s.current = top
	s.mu.Unlock()
	s.attempted = nil
	s.AssignRoles(top, nil)
	if err := builder.SetTopology(top); err != nil {
		return done, err
	}
	if err := s.Applied(ctx); err != nil {
		return done, err
	}
	s.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "topology.applied", Cause: begun,
		Message: fmt.Sprintf("topology %s is applied: %d changes", top.Metadata.Name, len(steps)),
	})
	return done, nil
}
