package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Options configures [New].
type Options struct {
	// Topology is the desired topology, as topology.Load returns it.
	Topology *topology.Topology
	// Current is the last applied topology: what only it names is removed. Nil: nothing is removed.
	Current *topology.Topology
	// Attempted are later topologies that were not fully applied: what they name is removed, too.
	Attempted []*topology.Topology
	// Clients connect to the running vCenters, by name.
	Clients map[string]Client
	// Prune removes everything that the topology does not name: VMs, hosts, folders …
	Prune bool
}

// Plan is the ordered list of steps from vCenters to a topology. Create one with [New]; it is valid until another client changes
// the inventories, and for one [Plan.Run].
type Plan struct{ steps []Step }

// Steps returns the steps in order; empty if there are no differences.
func (p *Plan) Steps() []Step { return slices.Clone(p.steps) }

// Run executes the steps in order. Progress, if not nil, is called before each. Run stops at the first failed step, with a
// [*StepError], or between two steps when ctx ends, with its error; done is the number of completed steps. A started step is
// completed regardless of ctx, within [StepTimeout].
func (p *Plan) Run(ctx context.Context, progress func(n int, s Step)) (done int, err error) {
	for i, s := range p.steps {
		if ctx.Err() != nil {
			return i, context.Cause(ctx)
		}
		if progress != nil {
			progress(i, s)
		}
		if err := s.bounded(ctx); err != nil {
			return i, err
		}
	}
	return len(p.steps), nil
}

// StepTimeout limits a step: it is long enough to evacuate a host.
const StepTimeout = 10 * time.Minute

func (s Step) bounded(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), StepTimeout)
	defer cancel()
	return s.Run(ctx)
}

// New reads the inventories and returns a plan, or an [*Unchangeable] error.
func New(ctx context.Context, opts Options) (*Plan, error) {
	plan := &Plan{}
	bad := unchangeable(opts)
	for i := range opts.Topology.Spec.VCenters {
		want := &opts.Topology.Spec.VCenters[i]
		client := opts.Clients[want.Name]
		if client == nil {
			continue // reported already
		}
		p := &planner{
			client: client, opts: opts, want: want, had: vcenterOf(opts.Current, want.Name),
			claimed: map[ref]bool{}, leaves: map[ref]bool{}, before: map[string]*named{}, hadVMs: map[ref]bool{},
		}
		for _, t := range opts.before() {
			if had := vcenterOf(t, want.Name); had != nil {
				for _, n := range objects(had) {
					p.before[n.key] = n
				}
			}
		}
		if err := p.plan(ctx); err != nil {
			return nil, fmt.Errorf("vcenter %q: %w", want.Name, err)
		}
		bad = append(bad, p.bad...)
		plan.steps = append(plan.steps, p.steps...)
	}
	if len(bad) > 0 {
		return nil, &Unchangeable{Reasons: bad}
	}
	return plan, nil
}

// before returns the previous topologies; Current, which takes precedence, is the last.
func (o Options) before() []*topology.Topology {
	all := slices.Clone(o.Attempted)
	if o.Current != nil {
		all = append(all, o.Current)
	}
	return all
}

func vcenterOf(t *topology.Topology, name string) *topology.VCenter {
	if t == nil {
		return nil
	}
	for i := range t.Spec.VCenters {
		if t.Spec.VCenters[i].Name == name {
			return &t.Spec.VCenters[i]
		}
	}
	return nil
}

// planner creates the plan of one vCenter. Its state is that of the plan, and later that of the completed steps.
type planner struct {
	client Client
	opts   Options
	want   *topology.VCenter
	had    *topology.VCenter // nil: unknown

	*state
	tags     *tagState
	rules    *ruleState
	profiles map[string]*pbm.PbmCapabilityProfile

	steps []Step
	bad   []Reason
	// claimed are the objects that the topology names, leaves those that will be removed.
	claimed, leaves map[ref]bool
	// before are the objects of the previous topology, hadVMs its VMs.
	before map[string]*named
	hadVMs map[ref]bool
	// late adds steps before the removals.
	late []func()
}

func (p *planner) plan(ctx context.Context) error {
	err := p.client.Do(ctx, func(ctx context.Context, c *vim25.Client) (err error) {
		if p.state, err = read(ctx, c); err != nil {
			return fmt.Errorf("inventory: %w", err)
		}
		if p.rules, err = readRules(ctx, c, p.state); err != nil {
			return fmt.Errorf("permissions: %w", err)
		}
		if p.profiles, err = readPolicies(ctx, c); err != nil {
			return fmt.Errorf("storage policies: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.tags, err = readTags(ctx, p.client); err != nil {
		return fmt.Errorf("tags: %w", err)
	}

	want := objects(p.want)
	p.categories()
	p.newTags(want)
	p.storagePolicies()
	p.roles()
	for _, kind := range []Kind{
		KindFolder, KindDatacenter, KindCluster, KindHost, KindNetwork, KindSwitch, KindPortGroup, KindDatastore, KindPool, KindVApp,
	} {
		for _, n := range want {
			// Folders of VMs come after their datacenter.
			if n.kind == kind && !(kind == KindFolder && n.dc != nil) {
				p.object(n)
			}
		}
		if kind == KindDatacenter {
			for _, n := range want {
				if n.kind == KindFolder && n.dc != nil {
					p.object(n)
				}
			}
		}
	}
	vms := p.plannedVMs()
	for _, n := range want {
		p.mark(n.kind, n.path, p.holder(n.key), tagsOf(p.opts.Topology, n.place, n.marks.Tags), p.hadTags(n.key), n.marks.Permissions, p.hadPermissions(n.key))
	}
	for _, m := range vms {
		p.markVM(m)
	}
	p.removals(want)
	return nil
}

// step adds a step that uses the SOAP endpoint.
func (p *planner) step(op Op, kind Kind, path, what string, run func(context.Context, *vim25.Client) error) *Step {
	p.steps = append(p.steps, Step{
		VCenter: p.want.Name, Op: op, Kind: kind, Path: path, What: what,
		run: func(ctx context.Context) error {
			return p.client.Do(ctx, func(ctx context.Context, c *vim25.Client) error { return run(ctx, c) })
		},
	})
	return &p.steps[len(p.steps)-1]
}

// create adds a step that creates the object with that key.
func (p *planner) create(n *named, what string, run func(context.Context, *vim25.Client) (ref, error)) {
	p.step(Create, n.kind, n.path, what, func(ctx context.Context, c *vim25.Client) error {
		r, err := run(ctx, c)
		if err == nil {
			p.made(n.kind, n.key, r)
		}
		return err
	})
}

// cannot records a reason against a plan.
func (p *planner) cannot(path, format string, args ...any) {
	p.bad = append(p.bad, Reason{VCenter: p.want.Name, Path: path, Message: fmt.Sprintf(format, args...)})
}

// object compares one object other than a VM.
func (p *planner) object(n *named) {
	live := p.byKey[n.key]
	if live == nil {
		if other := p.sameName(n); other != nil {
			if n.kind == KindDatacenter || n.kind == KindFolder {
				return
			}
			p.cannot(n.path, "is %s now: remove that first, or choose another name", p.path(other))
			return
		}
		p.missing(n)
		return
	}
	if live.kind != n.kind && !(n.kind == KindCluster && live.ref.Type == "ClusterComputeResource") {
		p.cannot(n.path, "is a %s now, and to be a %s: choose another name", live.kind, n.kind)
		return
	}
	p.claimed[live.ref] = true
	p.differs(n, live)
}

// sameName returns a host with the same name elsewhere in the vCenter: it is the same host.
func (p *planner) sameName(n *named) *entity {
	if n.kind != KindHost {
		return nil
	}
	for _, o := range p.byKey {
		if o.kind == KindHost && strings.EqualFold(o.name, n.host.Name) {
			return o
		}
	}
	return nil
}

// holder returns a func that returns the reference of an object after the previous steps.
func (p *planner) holder(key string) func() (ref, error) {
	return func() (ref, error) { return p.find(key) }
}
