package vcenter_test

import (
	"context"
	"crypto/tls"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const agent = "vcenter-test"

const small = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          region: r
          zone: z
          clusters: [{name: c, hosts: [{name: h}]}]
          vms: [{name: "vm-{n}", replicas: 3, cluster: c}]
`

// target is a simulated vCenter with independent access to it.
type target struct {
	*sim.VCenter
	ca *cert.CA

	mu    sync.Mutex
	creds vcenter.Credentials
	asked int
}

func start(t *testing.T) *target { return startFrom(t, small) }

// limited is a vCenter with a limit of sessions.
func limited(sessions string) string {
	return strings.Replace(small, "    - name: vc\n", "    - name: vc\n      sessions: "+sessions+"\n", 1)
}

func startFrom(t *testing.T, text string) *target {
	t.Helper()
	top, err := topology.Load("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := cert.NewCA("test")
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.New(t.Context(), sim.Options{Topology: top, CA: ca, Dir: t.TempDir(), Addresses: []string{"127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	v := s.VCenters()[0]
	return &target{VCenter: v, ca: ca, creds: vcenter.Credentials{User: v.User(), Password: v.Password()}}
}

// config returns a client configuration with short times.
func (v *target) config() vcenter.Config {
	return vcenter.Config{
		Name: "vc", Server: v.Host(), Port: v.Port(), CAData: v.ca.Cert, UserAgent: agent,
		Credentials: func(context.Context) (vcenter.Credentials, error) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.asked++
			return v.creds, nil
		},
		CallTimeout: 2 * time.Second,
		Retry:       vcenter.Backoff{Min: 20 * time.Millisecond, Max: 100 * time.Millisecond},
		LoginRetry:  vcenter.Backoff{Min: time.Hour, Max: time.Hour},
	}
}

func (v *target) setCredentials(password string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.creds.Password = password
}

func (v *target) timesAsked() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.asked
}

// run runs a client until the test ends, or until stop is called.
func run(t *testing.T, cfg vcenter.Config) (c *vcenter.Client, stop func()) {
	t.Helper()
	c, err := vcenter.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(stop)
	return c, stop
}

// admin is a second, separate login.
func (v *target) admin(t *testing.T) *govmomi.Client {
	t.Helper()
	sc := soap.NewClient(v.URL(), false)
	sc.DefaultTransport().TLSClientConfig = &tls.Config{RootCAs: v.ca.Pool()}
	t.Cleanup(sc.CloseIdleConnections)
	c, err := vim25.NewClient(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	m := session.NewManager(c)
	if err := m.Login(t.Context(), url.UserPassword(v.User(), v.Password())); err != nil {
		t.Fatal(err)
	}
	return &govmomi.Client{Client: c, SessionManager: m}
}

// sessions returns the keys of all sessions except the admin's.
func sessions(t *testing.T, admin *govmomi.Client) []string {
	t.Helper()
	own, err := admin.SessionManager.UserSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, s := range sessionList(t, admin) {
		if s.Key != own.Key {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// sessionList returns the vCenter's list of its SOAP sessions.
func sessionList(t *testing.T, admin *govmomi.Client) []types.UserSession {
	t.Helper()
	var m mo.SessionManager
	if err := property.DefaultCollector(admin.Client).RetrieveOne(t.Context(), admin.SessionManager.Reference(), []string{"sessionList"}, &m); err != nil {
		t.Fatal(err)
	}
	return m.SessionList
}

func (v *target) gate(t *testing.T, s gate.State) {
	t.Helper()
	if err := v.Gate().Set(t.Context(), gate.Mode{State: s}); err != nil {
		t.Fatal(err)
	}
}

func vm(t *testing.T, admin *govmomi.Client, name string) *object.VirtualMachine {
	t.Helper()
	found, err := find.NewFinder(admin.Client).VirtualMachine(t.Context(), "/dc/vm/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// eventually polls a condition.
const (
	// shortCall is a call timeout that is long enough for busy machines.
	shortCall = time.Second
	// patience is a timeout for several calls.
	patience = 30 * time.Second
)

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// recorder is a handler that keeps the current state.
type recorder struct {
	mu     sync.Mutex
	vms    map[types.ManagedObjectReference]mo.VirtualMachine
	synced bool
	syncs  int
	lost   []error
}

func newRecorder() *recorder {
	return &recorder{vms: map[types.ManagedObjectReference]mo.VirtualMachine{}}
}

func (r *recorder) Update(batch []vcenter.Update) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range batch {
		switch u.Kind {
		case vcenter.Leave:
			delete(r.vms, u.Ref)
			continue
		case vcenter.Enter:
			r.vms[u.Ref] = mo.VirtualMachine{}
		}
		v := r.vms[u.Ref]
		v.Self = u.Ref
		mo.ApplyPropertyChange(&v, u.Changes)
		r.vms[u.Ref] = v
	}
}

func (r *recorder) Synced() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.synced = true
	r.syncs++
}

func (r *recorder) Lost(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.synced = false
	r.lost = append(r.lost, err)
}

// when reports a condition on the recorder, under its lock.
func (r *recorder) when(cond func() bool) func() bool {
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return cond()
	}
}

func (r *recorder) power(name string) types.VirtualMachinePowerState {
	for _, v := range r.vms {
		if v.Name == name {
			return v.Runtime.PowerState
		}
	}
	return ""
}

// watch runs a watch over VMs until the test ends.
func watch(t *testing.T, c *vcenter.Client) *recorder {
	t.Helper()
	r := newRecorder()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Watch(ctx, vcenter.WatchSpec{Properties: map[string][]string{
			"VirtualMachine": {"name", "runtime.powerState", "guest.hostName", "guest.net"},
		}}, r)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return r
}
