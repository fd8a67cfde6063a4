package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/apply"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// maxTopology bounds the body of a request with a topology, in bytes: 10,000 VMs, written out, take a tenth of it.
const maxTopology = 64 << 20

// topology is what the inventories were to be at the last time that somebody said so.
func (s *Sandbox) topology() *topology.Topology {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// atConsole is the sandbox's own connection to a vCenter, for changes of any length.
type atConsole struct{ *vcenters.VCenter }

// Do implements [apply.Client]: a task may take longer than a call does.
func (c atConsole) Do(ctx context.Context, f func(context.Context, *vim25.Client) error) error {
	session, err := c.Client.Session()
	if err != nil {
		return err
	}
	return f(ctx, session.Vim)
}

// DoREST implements [apply.Client].
func (c atConsole) DoREST(ctx context.Context, f func(context.Context, *rest.Client) error) error {
	return c.Client.DoREST(ctx, f)
}

// apply answers a request to change the inventories: with an error, or with lines.
func (s *Sandbox) apply(w http.ResponseWriter, r *http.Request) {
	var req api.ApplyRequest
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxTopology))
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		control.Reply(w, nil, &api.Error{Code: "invalid", Message: "request: " + err.Error()})
		return
	}
	// One at a time: a plan is good as long as nobody else carries out another.
	if !s.applying.TryLock() {
		control.Reply(w, nil, api.Conflict("a topology is being applied already"))
		return
	}
	release := sync.OnceFunc(s.applying.Unlock) // before the last word, or whoever hears it and comes back finds it held
	defer release()
	top, plan, err := s.plan(r.Context(), req)
	if err != nil {
		release()
		control.Reply(w, nil, err)
		return
	}
	w.Header().Set("Content-Type", "application/jsonl")
	enc, flush := json.NewEncoder(w), http.NewResponseController(w).Flush
	tell := func(line api.ApplyLine) {
		// A reader who has left ends the request's context, too.
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
	tell(api.ApplyLine{Changes: changes})
	if req.DryRun {
		release()
		tell(api.ApplyLine{End: true})
		return
	}
	done, err := s.carryOut(r.Context(), top, plan, func(done int) { tell(api.ApplyLine{Done: done}) })
	last := api.ApplyLine{Done: done, End: true}
	if err != nil {
		last.Error = &api.Error{
			Code: "conflict", Message: fmt.Sprintf("%d of %d changes are done, and then: %s", done, len(steps), vcenters.ErrorText(err)),
			Try: "vsphere-sandbox topology apply, with --dry-run, shows what is left",
		}
	}
	release()
	tell(last)
}

// plan reads the topology and works out what differs.
func (s *Sandbox) plan(ctx context.Context, req api.ApplyRequest) (*topology.Topology, *apply.Plan, error) {
	if err := s.built(); err != nil {
		return nil, nil, err
	}
	if _, err := s.source.Builder(); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	phase := s.phase
	s.mu.Unlock()
	if phase != api.Ready {
		return nil, nil, &api.Error{Code: "unavailable", Message: "the sandbox is " + string(phase), Try: "vsphere-sandbox wait --for=ready"}
	}
	top, err := topology.Load("topology", []byte(req.Topology))
	if err != nil {
		return nil, nil, &api.Error{Code: "invalid", Message: err.Error()}
	}
	if s.opts.Light {
		top.Lighten()
	}
	if g, ok := s.ground.(ground.Shared); ok {
		if err := g.NamesFree(ctx, top); err != nil {
			return nil, nil, err
		}
	}
	clients := map[string]apply.Client{}
	for _, vc := range s.vcenters {
		clients[vc.Name()] = atConsole{vc}
	}
	plan, err := apply.New(ctx, apply.Options{
		Topology: top, Current: s.topology(), Attempted: s.attempted, Clients: clients, Prune: req.Prune,
	})
	if bad := (*apply.Unchangeable)(nil); errors.As(err, &bad) {
		return nil, nil, &api.Error{Code: "unchangeable", Message: bad.Error(), Try: "vsphere-sandbox down, then up with the topology"}
	}
	return top, plan, err
}

// carryOut does the steps. The topology is the sandbox's from the first step on: what is half done is on its way to it,
// and a VM that comes to be is a node at once.
func (s *Sandbox) carryOut(ctx context.Context, top *topology.Topology, plan *apply.Plan, progress func(done int)) (int, error) {
	steps := plan.Steps()
	begun := s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "command.topology-apply",
		Message: fmt.Sprintf("apply topology %s: %d changes", top.Metadata.Name, len(steps)),
	})
	builder, err := s.source.Builder()
	if err != nil {
		return 0, err
	}
	s.assignRoles(top, s.topology())
	builder.Rack(top)
	s.attempted = append(s.attempted, top)
	done, err := plan.Run(ctx, func(n int, step apply.Step) {
		progress(n)
		s.log.Append(event.Event{
			Plane: event.PlaneSandbox, Kind: "topology.step", Cause: begun,
			Object: event.Object{Kind: string(step.Kind), VCenter: step.VCenter, Name: step.Path}, Message: step.String(),
		})
	})
	if err != nil {
		s.log.Append(event.Event{
			Plane: event.PlaneSandbox, Level: event.Warning, Kind: "topology.failed", Cause: begun,
			Message: fmt.Sprintf("%d of %d changes done: %s", done, len(steps), vcenters.ErrorText(err)),
		})
		return done, err
	}
	s.mu.Lock()
	s.current = top
	s.mu.Unlock()
	s.attempted = nil
	s.assignRoles(top, nil)
	if err := builder.SetTopology(top); err != nil {
		return done, err
	}
	if err := s.updateCloudConfig(ctx); err != nil {
		return done, err
	}
	s.tags.Refresh(ctx)
	s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "topology.applied", Cause: begun,
		Message: fmt.Sprintf("topology %s is applied: %d changes", top.Metadata.Name, len(steps)),
	})
	return done, nil
}

// updateCloudConfig writes vsphere.conf anew where it has become another, as the owner of the clusters would: with new
// datacenters in it. What somebody else wrote into it is lost then, and otherwise stays.
func (s *Sandbox) updateCloudConfig(ctx context.Context) error {
	if s.opts.VCentersOnly || s.opts.CCM.None { // then it is nobody's, or somebody else's
		return nil
	}
	render := func() ([]byte, error) { return s.source.CloudConfig(s.ownPlace()) }
	if s.ccmDeployed() {
		render = s.podConfig
	}
	conf, err := render()
	if err != nil || string(conf) == s.cloudConf {
		return err
	}
	if s.csiDeployed() { // which has a configuration of its own
		if err := s.deployCSI(ctx); err != nil {
			return fmt.Errorf("cloud config: %w", err)
		}
		if err := s.copyCredentials(ctx); err != nil {
			return err
		}
	}
	if s.ccmDeployed() {
		if err := s.configurePods(ctx); err != nil {
			return fmt.Errorf("cloud config: %w", err)
		}
		s.cloudConf = string(conf)
		return nil
	}
	maps := s.cluster.Client().CoreV1().ConfigMaps(cloudNamespace)
	m, err := maps.Get(ctx, cloudConfigMap, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("cloud config: %w", err)
	}
	m.Data = map[string]string{cloudConfigKey: string(conf)}
	if _, err := maps.Update(ctx, m, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("cloud config: %w", err)
	}
	s.cloudConf = string(conf)
	return nil
}
