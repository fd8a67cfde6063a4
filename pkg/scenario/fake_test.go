package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

// fake is a sandbox that does what a test says.
type fake struct {
	mu      sync.Mutex
	readers map[chan api.Update]bool
	rows    []api.Update
	events  []event.Event
	leases  map[string]*api.Lease
	asked   []string
	// onInject and onHeal say what follows, beside the lease itself.
	onInject, onHeal func(f *fake, r api.InjectRequest, seq uint64)
	requests         map[string]api.InjectRequest
	calls            []api.Calls
	metrics          string
	ended            chan struct{}
	cut              chan struct{} // cuts a reader off, as one that is too slow
	lacks            string        // a fault that its ground has not what it takes for
	refuse           bool
}

func newFake() *fake {
	f := &fake{readers: map[chan api.Update]bool{}, leases: map[string]*api.Lease{}, requests: map[string]api.InjectRequest{}, ended: make(chan struct{}), cut: make(chan struct{})}
	for _, name := range []string{"worker-1", "worker-2"} {
		f.put(node(name, "True"))
		f.put(api.Update{VM: &api.VM{Name: name, VCenter: "vc", MoRef: "vm-" + name, Power: "on", Hostname: name}})
	}
	f.put(api.Update{VCenter: &api.VCenter{Name: "vc", Gate: "up", Watched: true}})
	return f
}

// node is an update of a node.
func node(name, ready string, taints ...string) api.Update {
	return api.Update{Node: &api.Node{Name: name, Registered: true, Ready: ready, Initialized: true, Taints: taints, VCenter: "vc", ProviderID: "vsphere://" + name, Addresses: []string{"198.18.0.1"}}}
}

// put sends an update to all readers, and keeps it for later ones.
func (f *fake) put(u api.Update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows = append(f.rows, u)
	for r := range f.readers {
		r <- u
	}
}

// note appends an event.
func (f *fake) note(kind string, o event.Object, cause uint64, message string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := event.Event{Seq: uint64(len(f.events) + 1), Time: time.Now(), Kind: kind, Object: o, Cause: cause, Message: message, Plane: event.PlaneKubernetes, Level: event.Info}
	f.events = append(f.events, e)
	for r := range f.readers {
		r <- api.Update{Event: &e}
	}
	return e.Seq
}

func (f *fake) Status(context.Context) (api.Status, error) {
	return api.Status{Name: "fake", Phase: api.Ready, Speed: 10}, nil
}

func (f *fake) Watch(ctx context.Context, _ uint64, g func(api.Update) error) error {
	updates := make(chan api.Update, 10000)
	f.mu.Lock()
	rows := append([]api.Update(nil), f.rows...)
	f.readers[updates] = true
	f.mu.Unlock()
	defer func() { f.mu.Lock(); defer f.mu.Unlock(); delete(f.readers, updates) }()
	for _, u := range append(rows, api.Update{Synced: true}) {
		if err := g(u); err != nil {
			return err
		}
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.ended:
			return nil
		case <-f.cut:
			return errors.New("too slow")
		case u := <-updates:
			if err := g(u); err != nil {
				return err
			}
		}
	}
}

func (f *fake) Inject(_ context.Context, r api.InjectRequest) (api.Lease, error) {
	f.ask("inject %s %v %s", r.Fault, r.On.Names, r.Mode)
	if f.refuse {
		return api.Lease{}, &api.Error{Code: "conflict", Message: "refused: it is off"}
	}
	if r.Fault == f.lacks {
		return api.Lease{}, &api.Error{Code: "unsupported", Message: r.Fault + " takes what there is not here"}
	}
	seq := f.note("fault.injected", event.Object{Kind: "VM", VCenter: "vc", Name: strings.Join(r.On.Names, ",")}, 0, r.Fault)
	l := &api.Lease{ID: fmt.Sprintf("f%d", len(f.leases)+1), Fault: r.Fault, State: "active", Seq: seq, Seed: r.Seed, Targets: []api.LeaseTarget{{Kind: "VM", Name: strings.Join(r.On.Names, ","), Does: "power off"}}}
	f.leases[l.ID], f.requests[l.ID] = l, r
	f.put(api.Update{Lease: copyOf(l)})
	if f.onInject != nil {
		go f.onInject(f, r, seq)
	}
	return *l, nil
}

func (f *fake) Heal(_ context.Context, r api.HealRequest) ([]api.Lease, error) {
	f.ask("heal %v", r.IDs)
	var healed []api.Lease
	for _, id := range r.IDs {
		l := f.leases[id]
		if l == nil {
			return nil, errors.New("no such lease " + id)
		}
		if l.State != "healed" {
			l.State = "healed"
			f.put(api.Update{Lease: copyOf(l)})
			seq := f.note("fault.healed", event.Object{Kind: "Lease", Name: id}, l.Seq, "healed")
			if f.onHeal != nil {
				go f.onHeal(f, f.requests[id], seq)
			}
		}
		healed = append(healed, *l)
	}
	return healed, nil
}

func copyOf(l *api.Lease) *api.Lease { c := *l; return &c }

func (f *fake) Calls(context.Context) ([]api.Calls, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]api.Calls(nil), f.calls...), nil
}

func (f *fake) Metrics(context.Context, string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return []byte(f.metrics), nil
}

func (f *fake) ask(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
}

// powerOff is what follows when a VM is powered off: its node is unknown after five seconds, and tainted after six.
func powerOff(f *fake, _ api.InjectRequest, seq uint64) {
	name := "worker-1"
	vm := f.note("vm.powered-off", event.Object{Kind: "VM", VCenter: "vc", Name: name}, seq, "powered off")
	f.put(api.Update{VM: &api.VM{Name: name, VCenter: "vc", MoRef: "vm-" + name, Power: "off"}})
	time.Sleep(5 * time.Second)
	f.put(node(name, "Unknown"))
	unknown := f.note("node.unknown", event.Object{Kind: "Node", Name: name}, vm, "Ready=Unknown")
	time.Sleep(time.Second)
	f.put(node(name, "Unknown", "node.cloudprovider.kubernetes.io/shutdown:NoSchedule"))
	f.note("node.tainted", event.Object{Kind: "Node", Name: name}, unknown, "taint shutdown")
}

// powerOn is what follows when that is healed.
func powerOn(f *fake, _ api.InjectRequest, seq uint64) {
	name := "worker-1"
	f.note("vm.powered-on", event.Object{Kind: "VM", VCenter: "vc", Name: name}, seq, "powered on")
	f.put(api.Update{VM: &api.VM{Name: name, VCenter: "vc", MoRef: "vm-" + name, Power: "on", Hostname: name}})
	time.Sleep(2 * time.Second)
	f.put(node(name, "True"))
	f.note("node.ready", event.Object{Kind: "Node", Name: name}, seq, "Ready")
}

// parse loads steps on the topology single.
func parse(t *testing.T, steps string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load("test.yaml", []byte(header+steps))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const header = `apiVersion: sandbox.vsphere/v1alpha1
kind: Scenario
metadata: {name: test}
topology: single
steps:
`
