package apply

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

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
	p.placement(want, vms)
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

// Op is the operation of a step.
type Op string

// The operations.
const (
	Create Op = "create"
	Change Op = "change"
	Remove Op = "remove"
)

// Kind is a kind of object.
type Kind string

// The kinds of objects, in the order of their creation.
const (
	KindCategory   Kind = "TagCategory"
	KindTag        Kind = "Tag"
	KindPolicy     Kind = "StoragePolicy"
	KindRole       Kind = "Role"
	KindFolder     Kind = "Folder"
	KindDatacenter Kind = "Datacenter"
	KindCluster    Kind = "Cluster"
	KindHost       Kind = "Host"
	KindNetwork    Kind = "Network"
	KindSwitch     Kind = "Switch"
	KindPortGroup  Kind = "PortGroup"
	KindDatastore  Kind = "Datastore"
	KindPool       Kind = "Pool"
	KindVApp       Kind = "VApp"
	KindVM         Kind = "VM"
	KindRoot       Kind = "RootFolder"
)

// Step is one change. It takes a few calls; a run may stop between two steps.
type Step struct {
	VCenter string `json:"vcenter"`
	Op      Op     `json:"op"`
	Kind    Kind   `json:"kind"`
	// Path is the object's inventory path, or its name if it has none (tags: category/name).
	Path string `json:"path"`
	// What describes the change if the operation does not: "2 → 4 CPUs".
	What string `json:"what,omitempty"`
	// PowerOff is set if the step powers off a running VM.
	PowerOff bool `json:"powerOff,omitempty"`

	run func(context.Context) error
}

// String returns the step on one line.
func (s Step) String() string {
	text := fmt.Sprintf("%s %s %s%s", s.Op, s.Kind, s.VCenter, "/"+strings.TrimPrefix(s.Path, "/"))
	if s.What != "" {
		text += ": " + s.What
	}
	return text
}

// Run executes the step. It must belong to a [Plan], and run once, after the previous steps.
func (s Step) Run(ctx context.Context) error {
	if err := s.run(ctx); err != nil {
		return &StepError{Step: s, Err: err}
	}
	return nil
}

// StepError is a failed step.
type StepError struct {
	Step Step
	Err  error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("vcenter %q: %s %s %s: %v", e.Step.VCenter, e.Step.Op, e.Step.Kind, e.Step.Path, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

// Reason is a difference that cannot be changed while the vCenter runs.
type Reason struct {
	VCenter string `json:"vcenter,omitempty"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// String returns the reason on one line.
func (r Reason) String() string {
	where := strings.TrimSuffix(r.VCenter+"/"+strings.TrimPrefix(r.Path, "/"), "/")
	return strings.TrimPrefix(where, "/") + ": " + r.Message
}

// Unchangeable is the error of an impossible plan, with all reasons.
type Unchangeable struct{ Reasons []Reason }

func (e *Unchangeable) Error() string {
	lines := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		lines[i] = r.String()
	}
	return "cannot be changed live:\n" + strings.Join(lines, "\n")
}

// differs plans changes of an existing object.
func (p *planner) differs(n *named, live *entity) {
	switch n.kind {
	case KindDatacenter:
		in := p.all[get[ref](live, "parent")]
		if in == nil || in.key == folderKey(n.dc.Folder) {
			return
		}
		p.step(Change, n.kind, n.path, "moved from "+p.path(live), func(ctx context.Context, c *vim25.Client) error {
			to, err := p.find(folderKey(n.dc.Folder))
			if err != nil {
				return err
			}
			t, err := object.NewFolder(c, to).MoveInto(ctx, []ref{live.ref})
			return wait(ctx, t, err)
		})
	case KindHost:
		cores, memory := get[int16](live, "hardware.cpuInfo.numCpuCores"), get[int64](live, "hardware.memorySize")
		if want := min(n.host.CPUs, 1<<14); int32(cores) != want {
			p.cannot(n.path, "has %d CPUs, and hardware is not changed: %d are wanted", cores, want)
		}
		if topology.Bytes(memory) != n.host.Memory {
			p.cannot(n.path, "has %s of memory, and hardware is not changed: %s is wanted", topology.Bytes(memory), n.host.Memory)
		}
	case KindSwitch:
		p.switchDiffers(n, live)
	case KindPortGroup:
		p.portGroupDiffers(n, live)
	case KindDatastore:
		p.datastoreDiffers(n, live)
	}
}

// Client connects to a vCenter as a user with all privileges. Each func calls its argument with a working session until ctx ends;
// concurrent calls are allowed.
type Client interface {
	Do(ctx context.Context, f func(context.Context, *vim25.Client) error) error
	DoREST(ctx context.Context, f func(context.Context, *rest.Client) error) error
}

// Sessions is a [Client] of two logged-in sessions.
type Sessions struct {
	Vim  *vim25.Client
	REST *rest.Client
}

// Do implements [Client].
func (s Sessions) Do(ctx context.Context, f func(context.Context, *vim25.Client) error) error {
	return f(ctx, s.Vim)
}

// DoREST implements [Client].
func (s Sessions) DoREST(ctx context.Context, f func(context.Context, *rest.Client) error) error {
	return f(ctx, s.REST)
}

type ref = types.ManagedObjectReference

// task waits for a task and returns its result.
func task[T any](ctx context.Context, c *vim25.Client, started T, id func(T) ref, err error) (types.AnyType, error) {
	if err != nil {
		return nil, err
	}
	info, err := object.NewTask(c, id(started)).WaitForResult(ctx, nil)
	if err != nil {
		return nil, err
	}
	return info.Result, nil
}

// wait waits for a task of govmomi's object package.
func wait(ctx context.Context, t *object.Task, err error) error {
	if err != nil {
		return err
	}
	return t.Wait(ctx)
}

// unchangeable lists the differences between topologies that a running vCenter cannot change.
func unchangeable(opts Options) (bad []Reason) {
	add := func(vcenter, path, format string, args ...any) {
		bad = append(bad, Reason{VCenter: vcenter, Path: path, Message: fmt.Sprintf(format, args...)})
	}
	want := &opts.Topology.Spec
	for i := range want.VCenters {
		if name := want.VCenters[i].Name; opts.Clients[name] == nil {
			add(name, "", "is not there: vCenters are not added live")
		}
	}
	for _, name := range slices.Sorted(mapKeys(opts.Clients)) {
		if vcenterOf(opts.Topology, name) == nil {
			add(name, "", "is not in the topology: vCenters are not removed live")
		}
	}
	if opts.Current == nil {
		return bad
	}
	had := &opts.Current.Spec
	if want.Categories != had.Categories {
		add("", "spec.categories", "region and zone are tags of %q and %q, and stay so", had.Categories.Region, had.Categories.Zone)
	}
	if !same(want.Stock, had.Stock) {
		add("", "spec.stock", "is decided when the vCenters start")
	}
	if !reflect.DeepEqual(want.Kubernetes, had.Kubernetes) {
		add("", "spec.kubernetes", "is decided when the cluster starts")
	}
	if !reflect.DeepEqual(want.NSX, had.NSX) {
		add("", "spec.nsx", "is decided when the sandbox starts")
	}
	if !reflect.DeepEqual(want.Supervisor, had.Supervisor) {
		add("", "spec.supervisor", "is decided when the sandbox starts")
	}
	kubelets := map[string]string{}
	for ref := range opts.Current.AllVMs() {
		kubelets[ref.VCenter.Name+"\x00"+ref.VM.UUID] = ref.VM.Kubelet
	}
	for ref := range opts.Topology.AllVMs() {
		if ref.VM.Kubelet != kubelets[ref.VCenter.Name+"\x00"+ref.VM.UUID] {
			add(ref.VCenter.Name, ref.VM.Name, "has a kubelet of another release, which is decided when the sandbox starts")
		}
	}
	for i := range want.VCenters {
		now := &want.VCenters[i]
		before := vcenterOf(opts.Current, now.Name)
		if before == nil {
			continue
		}
		if now.Version != before.Version {
			add(now.Name, "", "is version %s, and no upgrade is made to %s", before.Version, now.Version)
		}
		if now.InstanceUUID != before.InstanceUUID {
			add(now.Name, "", "has the instanceUUID %s for life: the topology's, or its seed, changes it", before.InstanceUUID)
		}
		if now.Sessions != before.Sessions {
			add(now.Name, "", "sessions: limits are set when it starts")
		}
		if now.Reactions != before.Reactions {
			add(now.Name, "", "reactions: are set when it starts")
		}
		if !sameUsers(now.Users, before.Users) {
			add(now.Name, "", "users: accounts are no part of the vSphere API, and are made when it starts")
		}
	}
	return bad
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// same reports whether two lists have the same elements, in any order.
func same[T comparable](a, b []T) bool {
	return len(a) == len(b) && len(less(a, b)) == 0 && len(less(b, a)) == 0
}

// less returns the elements of a that are not in b.
func less[T comparable](a, b []T) []T {
	var rest []T
	for _, v := range a {
		if !slices.Contains(b, v) {
			rest = append(rest, v)
		}
	}
	return rest
}

func sameUsers(a, b []topology.User) bool {
	return slices.EqualFunc(a, b, func(a, b topology.User) bool {
		return a.Name == b.Name && a.Password == b.Password && same(a.Groups, b.Groups)
	})
}
