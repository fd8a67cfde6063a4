package smoke

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

// fake is a sandbox whose cloud controller manager does what a test says.
type fake struct {
	mu      sync.Mutex
	readers map[chan api.Update]bool
	rows    map[string]api.Update
	order   []string
	events  []event.Event
	leases  []*api.Lease
	calls   uint64

	ccm string // its source

	// How the cloud controller manager is: what SIGTERM makes of it, whether it logs out, and whether it looks at nodes.
	exit    string
	leaks   bool
	idle    bool
	session int
}

func newFake(ccm string) *fake {
	f := &fake{ccm: ccm, readers: map[chan api.Update]bool{}, rows: map[string]api.Update{}, exit: "ccm: exited", calls: 10, session: 1}
	for i, name := range []string{"cp-1", "worker-west-1", "worker-east-1", "worker-east-2", "worker-eu-1", "worker-eu-2"} {
		f.put(api.Update{Node: &api.Node{
			Name: name, Registered: true, Ready: "True", Initialized: true, VCenter: "us", ProviderID: "vsphere://" + name,
			Region: "us", Zone: "us-west", Addresses: []string{fmt.Sprintf("198.18.0.%d", i+1)},
		}})
	}
	for _, name := range []string{"us", "eu"} {
		f.put(api.Update{VCenter: &api.VCenter{Name: name, Gate: "up", Watched: true}})
	}
	f.runs("ccm", ccm, true)
	f.runs("ccm-2", ccm, false)
	return f
}

func (f *fake) runs(name, source string, leads bool) {
	f.put(api.Update{Component: &api.Component{
		Name: name, State: "running", PID: 4711, Health: "healthy", Source: source, Leader: leads, Since: time.Now(),
	}})
}

func rowKey(u api.Update) string {
	switch {
	case u.Node != nil:
		return "node " + u.Node.Name
	case u.VCenter != nil:
		return "vcenter " + u.VCenter.Name
	case u.Component != nil:
		return "component " + u.Component.Name
	case u.Lease != nil:
		return "lease " + u.Lease.ID
	}
	return ""
}

func (f *fake) put(u api.Update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := rowKey(u)
	if !slices.Contains(f.order, key) {
		f.order = append(f.order, key)
	}
	f.rows[key] = u
	for r := range f.readers {
		r <- u
	}
}

func (f *fake) note(kind string, o event.Object, message string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := event.Event{Seq: uint64(len(f.events) + 1), Time: time.Now(), Kind: kind, Object: o, Message: message, Level: event.Info}
	f.events = append(f.events, e)
	f.calls++
	for r := range f.readers {
		r <- api.Update{Event: &e}
	}
	return e.Seq
}

func (f *fake) Status(context.Context) (api.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := api.Status{Name: "fake", Phase: api.Ready, Speed: 10, LastEvent: uint64(len(f.events))}
	for _, key := range f.order {
		switch u := f.rows[key]; {
		case u.Component != nil:
			s.Components = append(s.Components, *u.Component)
		case u.VCenter != nil:
			s.VCenters = append(s.VCenters, *u.VCenter)
		}
	}
	return s, nil
}

func (f *fake) Watch(ctx context.Context, after uint64, g func(api.Update) error) error {
	updates := make(chan api.Update, 10000)
	f.mu.Lock()
	var first []api.Update
	for _, key := range f.order {
		first = append(first, f.rows[key])
	}
	for _, e := range f.events {
		if e.Seq > after {
			first = append(first, api.Update{Event: &e})
		}
	}
	f.readers[updates] = true
	f.mu.Unlock()
	defer func() { f.mu.Lock(); defer f.mu.Unlock(); delete(f.readers, updates) }()
	for _, u := range append(first, api.Update{Synced: true}) {
		if err := g(u); err != nil {
			return err
		}
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case u := <-updates:
			if err := g(u); err != nil {
				return err
			}
		}
	}
}

func (f *fake) Inject(_ context.Context, r api.InjectRequest) (api.Lease, error) {
	seq := f.note("fault.injected", event.Object{Kind: "Lease"}, r.Fault)
	l := &api.Lease{ID: fmt.Sprintf("f%d", len(f.leases)+1), Fault: r.Fault, State: "active", Seq: seq}
	f.leases = append(f.leases, l)
	f.put(api.Update{Lease: copyOf(l)})
	switch r.Fault {
	case "ccm.crash-loop":
		f.runs("ccm", "x", false)
		f.runs("ccm-2", "x", true)
		f.note("ccm.leader-changed", event.Object{Kind: "Component", Name: "ccm-2"}, "ccm-2 leads")
	case "node.uninitialized":
		if !f.idle {
			f.note("node.untainted", event.Object{Kind: "Node", Name: r.On.Names[0]}, "taint node.cloudprovider.kubernetes.io/uninitialized is gone")
		}
	}
	return *l, nil
}

func (f *fake) Heal(_ context.Context, r api.HealRequest) ([]api.Lease, error) {
	var healed []api.Lease
	for _, l := range f.leases {
		if slices.Contains(r.IDs, l.ID) {
			l.State = "healed"
			f.put(api.Update{Lease: copyOf(l)})
			healed = append(healed, *l)
		}
	}
	return healed, nil
}

func copyOf(l *api.Lease) *api.Lease { c := *l; return &c }

func (f *fake) Calls(context.Context) ([]api.Calls, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return []api.Calls{
		{VCenter: "us", Client: "vsphere-cloud-provider", Method: "FindByUuid", Calls: f.calls},
		{VCenter: "us", Client: "vsphere-sandbox", Method: "WaitForUpdatesEx", Calls: 99},
	}, nil
}

func (f *fake) Metrics(context.Context, string) ([]byte, error) { return nil, nil }

// terminate is what SIGTERM does.
func (f *fake) terminate(int) error {
	f.note("child.exited", event.Object{Kind: "Component", Name: "ccm"}, f.exit)
	f.mu.Lock()
	if !f.leaks {
		f.session++
	}
	f.mu.Unlock()
	return nil
}

// command runs the commands of scenarios, and lists sessions.
func (f *fake) command(_ context.Context, cmd scenario.Command) (scenario.Output, error) {
	argv := cmd.Argv
	switch {
	case slices.Contains(argv, "session.ls"):
		f.mu.Lock()
		defer f.mu.Unlock()
		return scenario.Output{Stdout: fmt.Sprintf(`{"sessionList": [
			{"key": "s%d", "userAgent": "vsphere-cloud-provider", "loginTime": %q},
			{"key": "mine", "userAgent": "govc/0.0.0", "loginTime": %[2]q}]}`, f.session, time.Now().Format(time.RFC3339Nano))}, nil
	case slices.Contains(argv, "swap"):
		f.runs("ccm", argv[len(argv)-1], true)
		return scenario.Output{}, nil
	}
	return scenario.Output{}, errors.New("no such command: " + strings.Join(argv, " "))
}

// parse loads a scenario.
func parse(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load("test.yaml", []byte("apiVersion: sandbox.vsphere/v1alpha1\nkind: Scenario\ntopology: zones-us-eu\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
