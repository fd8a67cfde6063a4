package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const (
	agent   = "store-test"
	cluster = "cluster-1"
	gib     = 1 << 30
)

const one = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  vcenters:
    - name: us
      policies: [{name: gold, types: [vmfs]}]
      datacenters:
        - name: dc
          clusters: [{name: c, hosts: [{name: h}]}]
          vms: [{name: "vm-{n}", replicas: 4, cluster: c}]
`

const two = one + `
    - name: eu
      datacenters:
        - name: dc
          clusters: [{name: c, hosts: [{name: h}]}]
          vms: [{name: "vm-{n}", replicas: 2, cluster: c}]
`

// rig is simulated vCenters, connections, and a store that uses them.
type rig struct {
	*store.Store
	t       testing.TB
	lab     *sim.Lab
	clients []*vcenter.Client

	mu       sync.Mutex
	password map[string]string // instead of the vCenter's own
	nodes    []volume.Node
	done     []store.Operation
	called   map[string]map[string]int64 // calls by vCenter and method
}

func start(t testing.TB, source string, change ...func(*store.Options)) *rig {
	t.Helper()
	top, err := topology.Load("test.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, lab: sim.StartWith(t, sim.Options{Topology: top}), password: map[string]string{}, called: map[string]map[string]int64{}}
	for _, v := range r.lab.VCenters() {
		r.clients = append(r.clients, r.connect(v))
	}
	r.Store = r.open(change...)
	return r
}

// connect runs a connection until the test ends, and waits until it is connected.
func (r *rig) connect(v *sim.VCenter) *vcenter.Client {
	r.t.Helper()
	c, err := vcenter.New(vcenter.Config{
		Name: v.Name(), Server: v.Host(), Port: v.Port(), CAData: r.lab.CA(), UserAgent: agent,
		Credentials: func(context.Context) (vcenter.Credentials, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if p := r.password[v.Name()]; p != "" {
				return vcenter.Credentials{User: v.User(), Password: p}, nil
			}
			return vcenter.Credentials{User: v.User(), Password: v.Password()}, nil
		},
		OnCall:      func(c vcenter.Call) { r.count(v.Name(), c) },
		CallTimeout: 5 * time.Second,
		Retry:       vcenter.Backoff{Min: 20 * time.Millisecond, Max: 100 * time.Millisecond},
		FaultRetry:  vcenter.Backoff{Min: 20 * time.Millisecond, Max: 100 * time.Millisecond},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Run(ctx)
	}()
	r.t.Cleanup(func() {
		cancel()
		<-done
	})
	waitCtx, stop := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer stop()
	if _, err := c.Wait(waitCtx); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// open creates a store with the connections, until the test ends.
func (r *rig) open(change ...func(*store.Options)) *store.Store {
	o := store.Options{
		Clients: r.clients, Cluster: store.Cluster{ID: cluster, Distribution: "test"},
		Nodes: func(string) ([]volume.Node, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.nodes, nil
		},
		TaskCheck: 2 * time.Second,
		Grace:     200 * time.Millisecond,
		OnOperation: func(op store.Operation) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.done = append(r.done, op)
		},
		OnCall: r.count,
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&o)
	}
	s := store.New(o)
	r.t.Cleanup(s.Close)
	return s
}

func (r *rig) vc(name string) *sim.VCenter {
	r.t.Helper()
	v, ok := r.lab.VCenter(name)
	if !ok {
		r.t.Fatal("no vCenter " + name)
	}
	return v
}

// node returns a VM as a node.
func (r *rig) node(vc, name string) volume.Node {
	r.t.Helper()
	m, err := find.NewFinder(r.lab.Client(vc).Client).VirtualMachine(r.t.Context(), "/dc/vm/"+name)
	if err != nil {
		r.t.Fatal(err)
	}
	n := volume.Node{ID: vc + "/" + name, Name: name, VCenter: vc, VM: m.Reference().Value}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes = append(r.nodes, n)
	return n
}

func vmRef(n volume.Node) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachine", Value: n.VM}
}

// datastores returns all datastores of a vCenter.
func (r *rig) datastores(vc string) []volume.Datastore {
	r.t.Helper()
	c := r.lab.Client(vc).Client
	found, err := find.NewFinder(c).DatastoreList(r.t.Context(), "/dc/datastore/*")
	if err != nil {
		r.t.Fatal(err)
	}
	var all []volume.Datastore
	for _, d := range found {
		var is mo.Datastore
		if err := property.DefaultCollector(c).RetrieveOne(r.t.Context(), d.Reference(), []string{"summary"}, &is); err != nil {
			r.t.Fatal(err)
		}
		all = append(all, volume.Datastore{VCenter: vc, Ref: d.Reference().Value, Name: is.Summary.Name, URL: is.Summary.Url})
	}
	return all
}

func (r *rig) spec(vc, name string) volume.Spec {
	r.t.Helper()
	return volume.Spec{Name: name, Capacity: gib, Datastores: r.datastores(vc)}
}

func (r *rig) create(vc, name string) volume.Volume {
	r.t.Helper()
	v, err := r.Create(r.t.Context(), r.spec(vc, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// count counts a call when the store gets its result. The vCenter counts it a moment later, perhaps to the next operation.
func (r *rig) count(vc string, c vcenter.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.called[vc] == nil {
		r.called[vc] = map[string]int64{}
	}
	r.called[vc][c.Method]++
}

// calls counts the calls of the store's connections, by method.
func (r *rig) calls(vc string) map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.called[vc])
}

// since returns the calls since before.
func (r *rig) since(vc string, before map[string]int64) (total int64, by string) {
	for method, n := range r.calls(vc) {
		if d := n - before[method]; d > 0 {
			total += d
			by += fmt.Sprintf(" %s:%d", method, d)
		}
	}
	return total, by
}

// rule puts a rule of the gate in force until heal is called.
func (r *rig) rule(vc string, rule gate.Rule) (heal func()) {
	r.t.Helper()
	g := r.vc(vc).Gate()
	id, err := g.Add(rule)
	if err != nil {
		r.t.Fatal(err)
	}
	return func() { _ = g.Remove(context.Background(), id) }
}

func (r *rig) gate(vc string, s gate.State) {
	r.t.Helper()
	r.must(r.vc(vc).Gate().Set(r.t.Context(), gate.Mode{State: s}))
}

// eventually polls a condition.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}
