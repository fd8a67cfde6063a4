package inventory_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const zones = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  vcenters:
    - name: us
      users: [{name: cpi@vsphere.local, password: secret of cpi}]
      permissions: [{user: cpi@vsphere.local, role: ReadOnly}]
      folders: [{path: americas, region: us}]
      datacenters:
        - name: west
          folder: americas
          zone: us-west
          clusters:
            - {name: c1, hosts: [{name: "west-{n}", replicas: 2}]}
            - {name: c2, zone: us-west-2, hosts: [{name: west-9}]}
          hosts: [{name: untagged}]
          vms:
            - {name: w1, cluster: c1, hostname: w1.example.org, uuid: 42010a3b-1c2d-4e5f-8071-92a3b4c5d6e7,
               nics: [{addresses: [198.18.5.1/16, "2001:db8::5/64"]}]}
            - {name: w2, cluster: c2}
        - name: east
          folder: americas
          hosts: [{name: east-1}]
          vms:
            - {name: e1, uuid: 42030a3b-1c2d-4e5f-8071-92a3b4c5d6e7}
            - {name: e2, uuid: 3b0a0442-2d1c-5f4e-8071-92a3b4c5d6e7} # eu2's with the byte order swapped
    - name: eu
      users: [{name: cpi@vsphere.local, password: secret of cpi}]
      permissions: [{user: cpi@vsphere.local, role: ReadOnly}]
      datacenters:
        - name: dc
          region: eu
          zone: eu-all
          clusters: [{name: c1, hosts: [{name: eu-1}]}]
          vms:
            - {name: eu1, uuid: 42020a3b-1c2d-4e5f-8071-92a3b4c5d6e7}
            - {name: eu2, uuid: 42040a3b-1c2d-4e5f-8071-92a3b4c5d6e7}
`

// world is simulated vCenters and an inventory that watches them.
type world struct {
	*inventory.Inventory
	sim *sim.Simulation
	ca  *cert.CA

	mu        sync.Mutex
	passwords map[string]string
	clients   map[string]*vcenter.Client
}

// start runs both until the test ends; edit changes the inventory's configuration, such as its account.
func start(t testing.TB, edit func(*world, *inventory.Config), as ...func(*vcenter.Credentials)) *world {
	t.Helper()
	top, err := topology.Load("test.yaml", []byte(zones))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := cert.NewCA("test")
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.New(t.Context(), sim.Options{
		Topology: top, CA: ca, Dir: t.TempDir(), Addresses: []string{"127.0.0.1:0", "127.0.0.1:0"},
	})
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
	w := &world{sim: s, ca: ca, passwords: map[string]string{}, clients: map[string]*vcenter.Client{}}
	cfg := inventory.Config{
		Categories: inventory.Categories{Region: top.Spec.Categories.Region, Zone: top.Spec.Categories.Zone},
		TagRefresh: time.Hour, TagMissInterval: 50 * time.Millisecond,
	}
	for _, v := range s.VCenters() {
		w.passwords[v.Name()] = v.Password()
		client, err := vcenter.New(vcenter.Config{
			Name: v.Name(), Server: v.Host(), Port: v.Port(), CAData: ca.Cert, UserAgent: "inventory-test",
			Credentials: func(context.Context) (vcenter.Credentials, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				c := vcenter.Credentials{User: v.User(), Password: w.passwords[v.Name()]}
				for _, change := range as {
					change(&c)
				}
				return c, nil
			},
			CallTimeout: 3 * time.Second, MaxWait: time.Second,
			Retry:      vcenter.Backoff{Min: 20 * time.Millisecond, Max: 100 * time.Millisecond},
			LoginRetry: vcenter.Backoff{Min: time.Hour, Max: time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.clients[v.Name()] = client
		cfg.VCenters = append(cfg.VCenters, inventory.VCenterConfig{Client: client})
	}
	if edit != nil {
		edit(w, &cfg)
	}
	if w.Inventory, err = inventory.New(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return w
}

// synced waits for all vCenters.
func (w *world) synced(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := w.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
}

func (w *world) vcenter(t testing.TB, name string) *sim.VCenter {
	t.Helper()
	v, ok := w.sim.VCenter(name)
	if !ok {
		t.Fatalf("no vCenter %q", name)
	}
	return v
}

func (w *world) gate(t testing.TB, vcenter string, s gate.State) {
	t.Helper()
	if err := w.vcenter(t, vcenter).Gate().Set(t.Context(), gate.Mode{State: s}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) setPassword(vcenter, password string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passwords[vcenter] = password
}

// admin is a separate login.
func (w *world) admin(t testing.TB, name string) *vim25.Client {
	t.Helper()
	v := w.vcenter(t, name)
	sc := soap.NewClient(v.URL(), false)
	sc.DefaultTransport().TLSClientConfig = &tls.Config{RootCAs: w.ca.Pool()}
	t.Cleanup(sc.CloseIdleConnections)
	c, err := vim25.NewClient(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.NewManager(c).Login(t.Context(), url.UserPassword(v.User(), v.Password())); err != nil {
		t.Fatal(err)
	}
	return c
}

// do runs tasks on a VM, given by vCenter and path.
func (w *world) do(t testing.TB, vcenter, path string, steps ...func(*object.VirtualMachine, context.Context) (*object.Task, error)) {
	t.Helper()
	vm, err := find.NewFinder(w.admin(t, vcenter)).VirtualMachine(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		task, err := step(vm, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func eventually(t testing.TB, what string, cond func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = cond(); err == nil {
			return
		}
	}
	t.Fatalf("not within 30 s: %s: %v", what, err)
}

func uuid(t testing.TB, s string) match.UUID {
	t.Helper()
	u, err := match.ParseUUID(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// absent expects a result of ConfirmAbsent for a VM; a nil want means confirmed.
func absent(got error) error {
	if got != nil {
		return fmt.Errorf("not confirmed: %w", got)
	}
	return nil
}
