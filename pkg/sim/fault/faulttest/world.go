package faulttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// World is what [Start] returns: vCenters with sessions for the test ([sim.Lab.Client]), and the ground that they form.
type World struct {
	*sim.Lab
	// Ground is the ground of the faults. Before the first injection a test may change it: set a cluster ([NewCluster]) or
	// processes ([NewProcesses]).
	Ground *fault.Ground

	lister lister
	mu     sync.Mutex
	engine *fault.Engine
}

// speed is the speed of the grounds.
const speed pace.Speed = 10

// Start runs the vCenters of a topology, given as a path or a text, until the test ends.
func Start(t sim.TB, source string, settings ...topology.Setting) *World {
	t.Helper()
	return on(t, sim.Start(t, source, settings...))
}

// StartWith is [Start] with options.
func StartWith(t sim.TB, opts sim.Options) *World {
	t.Helper()
	return on(t, sim.StartWith(t, opts))
}

func on(t sim.TB, lab *sim.Lab) *World {
	t.Helper()
	w := &World{Lab: lab}
	w.Ground = &fault.Ground{
		Items:      w.items,
		Categories: lab.Topology().Spec.Categories,
		Speed:      speed,
		Events:     lab.Events,
	}
	for _, vc := range lab.VCenters() {
		w.Ground.VCenters = append(w.Ground.VCenters, fault.Reach(connect(t, vc, lab.CA()), vc))
	}
	w.lister = newLister(lab.Topology(), w.Ground)
	return w
}

// connect returns a connection to a vCenter, past its gate, until the test ends.
func connect(t sim.TB, vc *sim.VCenter, ca []byte) *vcenter.Client {
	t.Helper()
	client, err := vcenter.New(vcenter.Config{
		Name: vc.Name(), Server: vc.Host(), Port: vc.Port(), CAData: ca, UserAgent: "faulttest",
		Credentials: func(context.Context) (vcenter.Credentials, error) {
			password, _ := vc.Console().Password()
			return vcenter.Credentials{User: vc.Console().Username(), Password: password}, nil
		},
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return vc.DialConsole(ctx) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { _ = client.Run(ctx) }) // returns nil
	t.Cleanup(func() { cancel(); wg.Wait() })
	soon, done := context.WithTimeout(t.Context(), 30*time.Second)
	defer done()
	if _, err := client.Wait(soon); err != nil {
		t.Fatal(err)
	}
	return client
}

// Engine returns the world's engine, which all its methods use. It has the kinds of the first call, and heals all leases at the
// end of the test.
func (w *World) Engine(t sim.TB, kinds []*fault.Kind) *fault.Engine {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.engine != nil {
		return w.engine
	}
	w.engine = fault.NewEngine(fault.Options{Ground: w.Ground, Kinds: kinds, Retry: 50 * time.Millisecond})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := w.engine.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return w.engine
}

// EventsOf returns the events of a kind, oldest first.
func (w *World) EventsOf(kind string) []event.Event {
	all, _ := w.Events.Read(0, 0)
	var list []event.Event
	for _, e := range all {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// Inject injects a fault, and fails the test on an error.
func (w *World) Inject(t sim.TB, kinds []*fault.Kind, r fault.Request) fault.Lease {
	t.Helper()
	lease, err := w.Engine(t, kinds).Inject(t.Context(), r)
	if err != nil {
		t.Fatal(fmt.Sprintf("inject %s: %v", r.Kind, err))
	}
	return lease
}

// Plan makes a dry run, and fails the test on an error.
func (w *World) Plan(t sim.TB, kinds []*fault.Kind, r fault.Request) fault.Lease {
	t.Helper()
	lease, err := w.Engine(t, kinds).Plan(t.Context(), r)
	if err != nil {
		t.Fatal(fmt.Sprintf("plan %s: %v", r.Kind, err))
	}
	return lease
}

// Heal heals a lease twice, because that must be harmless. It fails the test on an error.
func (w *World) Heal(t sim.TB, id string) fault.Lease {
	t.Helper()
	e := w.Engine(t, nil)
	healed, err := e.Heal(t.Context(), id)
	if err != nil {
		t.Fatal(fmt.Sprintf("heal %s: %v", id, err))
	}
	if _, err := e.Heal(t.Context(), id); err != nil {
		t.Fatal(fmt.Sprintf("heal %s again: %v", id, err))
	}
	return healed[0]
}

// Refused injects a fault that must be refused, and returns the refusal. It fails the test if the fault is not refused or leaves
// anything behind.
func (w *World) Refused(t sim.TB, kinds []*fault.Kind, r fault.Request) *fault.Refusal {
	t.Helper()
	e := w.Engine(t, kinds)
	before := len(e.Leases())
	lease, err := e.Inject(t.Context(), r)
	refusal := (*fault.Refusal)(nil)
	switch {
	case err == nil:
		t.Fatal(fmt.Sprintf("inject %s: not refused: %+v", r.Kind, lease))
	case !errors.As(err, &refusal):
		t.Fatal(fmt.Sprintf("inject %s: %v: no refusal", r.Kind, err))
	case len(e.Leases()) != before:
		t.Fatal(fmt.Sprintf("inject %s: refused, and there is a lease", r.Kind))
	}
	return refusal
}

// On selects targets by name.
func On(names ...string) fault.Selector { return fault.Selector{Names: names} }

// Processes is a fake of the processes of a sandbox that records calls. It implements [fault.Processes].
type Processes struct {
	mu       sync.Mutex
	replicas map[string]int
	calls    []string
	fail     map[string]error
}

// NewProcesses returns one process for each of these components.
func NewProcesses(components ...string) *Processes {
	p := &Processes{replicas: map[string]int{}, fail: map[string]error{}}
	for _, c := range components {
		p.replicas[c] = 1
	}
	return p
}

// Calls lists the calls in order: "pause ccm", "cut node/worker-1 silently", "scale ccm 2".
func (p *Processes) Calls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// Fail makes a call ("pause ccm") fail with err from now on; nil ends that.
func (p *Processes) Fail(call string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail[call] = err
}

func (p *Processes) call(component, format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.replicas[component] == 0 {
		return fmt.Errorf("component %q not found", component)
	}
	p.calls = append(p.calls, call)
	return p.fail[call]
}

// Running implements [fault.Processes]: all components run, unless "running COMPONENT" must fail.
func (p *Processes) Running(component string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.replicas[component] == 0 {
		return fmt.Errorf("component %q not found", component)
	}
	return p.fail["running "+component]
}

// Kill implements [fault.Processes].
func (p *Processes) Kill(_ context.Context, component string) error {
	return p.call(component, "kill %s", component)
}

// Pause implements [fault.Processes].
func (p *Processes) Pause(_ context.Context, component string) error {
	return p.call(component, "pause %s", component)
}

// Resume implements [fault.Processes].
func (p *Processes) Resume(_ context.Context, component string) error {
	return p.call(component, "resume %s", component)
}

// Cut implements [fault.Processes].
func (p *Processes) Cut(component string, silent bool) error {
	if silent {
		return p.call(component, "cut %s silently", component)
	}
	return p.call(component, "cut %s", component)
}

// Restore implements [fault.Processes].
func (p *Processes) Restore(component string) error { return p.call(component, "mend %s", component) }

// Restart implements [fault.Processes].
func (p *Processes) Restart(_ context.Context, component string) error {
	return p.call(component, "restart %s", component)
}

// Replicas implements [fault.Processes].
func (p *Processes) Replicas(component string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.replicas[component]
}

// Scale implements [fault.Processes].
func (p *Processes) Scale(_ context.Context, component string, replicas int) error {
	if err := p.call(component, "scale %s %d", component, replicas); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replicas[component] = replicas
	return nil
}

// components lists the stand-in's components.
func components(processes fault.Processes) []fault.Item {
	p, ok := processes.(*Processes)
	if !ok {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var items []fault.Item
	for _, name := range slices.Sorted(maps.Keys(p.replicas)) {
		items = append(items, fault.Item{Kind: fault.Component, Name: name})
	}
	return items
}

// Cluster is a fake of Kubernetes, an object store without controllers. It implements [fault.Kubernetes].
type Cluster struct {
	*fake.Clientset
	// Accounts are the ServiceAccounts by component, in kube-system.
	Accounts map[string]string
}

// NewCluster returns a cluster with these objects and the components of a sandbox.
func NewCluster(objects ...runtime.Object) *Cluster {
	return &Cluster{Clientset: fake.NewClientset(objects...), Accounts: map[string]string{"ccm": "cloud-controller-manager"}}
}

// Client implements [fault.Kubernetes].
func (c *Cluster) Client() kubernetes.Interface { return c.Clientset }

// Credentials implements [fault.Kubernetes].
func (c *Cluster) Credentials() (namespace, name string) {
	return "kube-system", "vsphere-cloud-secret"
}

// Config implements [fault.Kubernetes].
func (c *Cluster) Config() (namespace, name string) { return "kube-system", "vsphere-cloud-config" }

// Account implements [fault.Kubernetes].
func (c *Cluster) Account(component string) (namespace, name string, err error) {
	name, ok := c.Accounts[component]
	if !ok {
		return "", "", fmt.Errorf("component %q not found", component)
	}
	return "kube-system", name, nil
}
