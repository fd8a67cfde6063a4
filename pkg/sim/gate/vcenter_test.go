package gate_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	vapisim "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// vcenter is a vcsim with two VMs behind a gate.
type vcenter struct {
	*front
	context *simulator.Context
	dropped chan string
}

// newVCenter must not run in parallel: Model.Create writes to variables of its package.
func newVCenter(t *testing.T) *vcenter {
	t.Helper()
	m := simulator.VPX()
	m.Autostart, m.Host, m.Cluster, m.Machine = false, 1, 0, 2
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	s := m.Service
	s.Listen = &url.URL{Scheme: "https", Host: "127.0.0.1", Path: vim25.Path, User: url.UserPassword("alice", "secret")}
	s.RegisterSDK(s.Context.Map)
	paths, handler := vapisim.New(s.Listen, s.Context.Map)
	for _, p := range paths {
		s.Handle(p, handler)
	}
	v := &vcenter{context: s.Context, dropped: make(chan string, 8)}
	v.front = open(t, func(o *gate.Options) {
		o.Identify = v.identify
		o.Name = v.name
		o.FailTask = v.failTask
		o.DropSession = v.drop
	})
	v.backend.next = s.ServeMux
	return v
}

func (v *vcenter) fresh() *simulator.Context {
	c := *v.context
	return &c
}

func (v *vcenter) identify(r *http.Request) (string, string) {
	cookie, err := r.Cookie(soap.SessionCookieName)
	if err != nil {
		return "", ""
	}
	return cookie.Value, "alice"
}

func (v *vcenter) name(ref types.ManagedObjectReference) string {
	vm, ok := v.context.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return ""
	}
	return vm.Name
}

func (v *vcenter) failTask(method string, this types.ManagedObjectReference, after time.Duration, fault types.LocalizedMethodFault) (types.ManagedObjectReference, error) {
	task := simulator.CreateTask(this, method, func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		time.Sleep(after)
		return nil, fault.Fault
	})
	return task.Run(v.fresh()), nil
}

func (v *vcenter) drop(key string) {
	ctx := v.fresh()
	ctx.Map.SessionManager().TerminateSession(ctx, &types.TerminateSession{This: ctx.Map.SessionManager().Self, SessionId: []string{key}})
	v.dropped <- key
}

// login returns a client with its own connection and session.
func (v *vcenter) login(t *testing.T, agent string) *govmomi.Client {
	t.Helper()
	sc := soap.NewClient(&url.URL{Scheme: "https", Host: v.Addr(), Path: vim25.Path}, false)
	sc.DefaultTransport().TLSClientConfig = &tls.Config{RootCAs: v.ca.Pool()}
	sc.UserAgent = agent
	vc, err := vim25.NewClient(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sc.CloseIdleConnections)
	c := &govmomi.Client{Client: vc, SessionManager: session.NewManager(vc)}
	if err := c.Login(t.Context(), url.UserPassword("alice", "secret")); err != nil {
		t.Fatal(err)
	}
	return c
}

func (v *vcenter) loginREST(t *testing.T, c *govmomi.Client) *rest.Client {
	t.Helper()
	r := rest.NewClient(c.Client)
	r.UserAgent = c.UserAgent
	if err := r.Login(t.Context(), url.UserPassword("alice", "secret")); err != nil {
		t.Fatal(err)
	}
	return r
}

// vms returns the two VMs by name.
func (v *vcenter) vms(t *testing.T, c *govmomi.Client) (one, two *object.VirtualMachine) {
	t.Helper()
	var list []*object.VirtualMachine
	for _, e := range v.context.Map.All("VirtualMachine") {
		list = append(list, object.NewVirtualMachine(c.Client, e.Reference()))
	}
	if len(list) != 2 {
		t.Fatalf("%d VMs", len(list))
	}
	if v.name(list[0].Reference()) > v.name(list[1].Reference()) {
		list[0], list[1] = list[1], list[0]
	}
	return list[0], list[1]
}

// add puts a rule in force for the rest of the test, or until it is removed.
func (f *front) add(t *testing.T, r gate.Rule) gate.ID {
	t.Helper()
	id, err := f.Add(r)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (f *front) remove(t *testing.T, id gate.ID) {
	t.Helper()
	if err := f.Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

// status returns how a rule fares.
func (f *front) status(t *testing.T, id gate.ID) gate.Status {
	t.Helper()
	for _, s := range f.Rules() {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("no rule %d", id)
	return gate.Status{}
}

// soon waits for something that another goroutine is about to do.
func soon(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// power powers a VM on and waits for the task.
func power(ctx context.Context, vm *object.VirtualMachine) error {
	task, err := vm.PowerOn(ctx)
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}

// group waits for its goroutines at the end of a test.
func group(t *testing.T) *sync.WaitGroup {
	var g sync.WaitGroup
	t.Cleanup(g.Wait)
	return &g
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }
