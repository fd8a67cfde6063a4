package nodes_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodes"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// world has two vCenters with three zones. In west, the hosts of each cluster mount a separate datastore, and all mount a third one.
const world = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  tagCategories: [{name: tier, types: [Datastore]}, {name: k8s-region}, {name: k8s-zone}]
  vcenters:
    - name: us
      policies: [{name: gold, tags: [{category: tier, name: gold}]}]
      datacenters:
        - name: west
          region: us
          datastores:
            - {name: ds-a, clusters: [a], capacity: 100Gi, tags: [{category: tier, name: gold}]}
            - {name: ds-b, clusters: [b], capacity: 200Gi}
            - {name: ds-shared, capacity: 50Gi}
          clusters:
            - {name: a, zone: us-a, hosts: [{name: "esx-a-{n}", replicas: 2}]}
            - {name: b, zone: us-b, hosts: [{name: "esx-b-{n}", replicas: 2}]}
          vms:
            - {name: a1, cluster: a, host: esx-a-1, datastore: ds-shared, uuid: 42010000-1c2d-4e5f-8071-92a3b4c5d601}
            - {name: a2, cluster: a, host: esx-a-2, datastore: ds-shared, uuid: 42010000-1c2d-4e5f-8071-92a3b4c5d602}
            - {name: b1, cluster: b, host: esx-b-1, datastore: ds-shared, uuid: 42010000-1c2d-4e5f-8071-92a3b4c5d603}
        - name: bare
          hosts: [{name: esx-bare}]
          vms: [{name: n1, uuid: 42010000-1c2d-4e5f-8071-92a3b4c5d604}]
    - name: eu
      datacenters:
        - name: eu
          region: eu
          zone: eu-1
          clusters: [{name: c, hosts: [{name: esx-eu-1}]}]
          vms: [{name: e1, uuid: 42010000-1c2d-4e5f-8071-92a3b4c5d605}]
`

const (
	uuidA1 = "42010000-1c2d-4e5f-8071-92a3b4c5d601"
	uuidA2 = "42010000-1c2d-4e5f-8071-92a3b4c5d602"
	uuidB1 = "42010000-1c2d-4e5f-8071-92a3b4c5d603"
	uuidN1 = "42010000-1c2d-4e5f-8071-92a3b4c5d604"
	uuidE1 = "42010000-1c2d-4e5f-8071-92a3b4c5d605"

	region = "topology.csi.vmware.com/k8s-region"
	zone   = "topology.csi.vmware.com/k8s-zone"
)

func segmentOf(r, z string) volume.Segment { return volume.Segment{region: r, zone: z} }

// fakeCluster has the nodes of the test.
type fakeCluster struct {
	mu        sync.Mutex
	all       []nodes.KubeNode
	unknown   bool
	listeners map[int]func()
}

func (c *fakeCluster) Nodes() ([]nodes.KubeNode, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all), !c.unknown
}

func (c *fakeCluster) Listen(f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listeners == nil {
		c.listeners = map[int]func(){}
	}
	id := len(c.listeners)
	c.listeners[id] = f
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, id)
	}
}

func (c *fakeCluster) set(all ...nodes.KubeNode) {
	c.mu.Lock()
	c.all = all
	var report []func()
	for _, f := range c.listeners {
		report = append(report, f)
	}
	c.mu.Unlock()
	for _, f := range report {
		f()
	}
}

// everyone returns the nodes of the world.
func everyone() []nodes.KubeNode {
	return []nodes.KubeNode{
		{Name: "a1", ProviderID: "vsphere://" + uuidA1},
		{Name: "a2", ProviderID: "vsphere://" + uuidA2, SystemUUID: "anything"},
		{Name: "b1", SystemUUID: strings.ToUpper(uuidB1)},
		{Name: "e1", SystemUUID: "00000142-2d1c-5f4e-8071-92a3b4c5d605"}, // byte order swapped
	}
}

// rig is simulated vCenters and the nodes in them.
type rig struct {
	*nodes.Nodes
	t       *testing.T
	lab     *sim.Lab
	cluster *fakeCluster
	clients map[string]*vcenter.Client
}

// start runs both until the test ends; edit changes the configuration.
func start(t *testing.T, top string, edit func(*rig, *nodes.Config)) *rig {
	t.Helper()
	r := &rig{t: t, lab: sim.Start(t, top), cluster: &fakeCluster{all: everyone()}, clients: map[string]*vcenter.Client{}}
	cfg := nodes.Config{
		Cluster: r.cluster, TagPause: 20 * time.Millisecond, TagRefresh: time.Hour,
		Categories: []nodes.Category{{Name: "k8s-region"}, {Name: "k8s-zone"}},
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	for _, v := range r.lab.VCenters() {
		c, err := vcenter.New(vcenter.Config{
			Name: v.Name(), Server: v.Host(), Port: v.Port(), CAFile: r.lab.CAFile, UserAgent: "nodes-test",
			Credentials: func(context.Context) (vcenter.Credentials, error) {
				return vcenter.Credentials{User: v.User(), Password: v.Password()}, nil
			},
			CallTimeout: 3 * time.Second, MaxWait: time.Second,
			Retry: vcenter.Backoff{Min: 20 * time.Millisecond, Max: 100 * time.Millisecond},
		})
		if err != nil {
			t.Fatal(err)
		}
		r.clients[v.Name()] = c
		cfg.VCenters = append(cfg.VCenters, nodes.VCenter{Client: c})
		all.Go(func() { _ = c.Run(ctx) })
	}
	if edit != nil {
		edit(r, &cfg)
	}
	n, err := nodes.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Nodes = n
	runCtx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := n.Run(runCtx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return r
}

func (r *rig) synced() *rig {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	if err := r.WaitSynced(ctx); err != nil {
		r.t.Fatal(err)
	}
	return r
}

func (r *rig) vcenter(name string) *sim.VCenter {
	r.t.Helper()
	v, ok := r.lab.VCenter(name)
	if !ok {
		r.t.Fatalf("no vcenter %s", name)
	}
	return v
}

func (r *rig) element(vcenter, path string) types.ManagedObjectReference {
	r.t.Helper()
	found, err := object.NewSearchIndex(r.lab.Client(vcenter).Client).FindByInventoryPath(r.t.Context(), path)
	if err != nil || found == nil {
		r.t.Fatalf("%s: %v", path, err)
	}
	return found.Reference()
}

func (r *rig) gate(vcenter string, state gate.State) {
	r.t.Helper()
	if err := r.vcenter(vcenter).Gate().Set(r.t.Context(), gate.Mode{State: state}); err != nil {
		r.t.Fatal(err)
	}
}

// move moves a running VM to another host and its cluster.
func (r *rig) move(vcenter, vm, host string) {
	r.t.Helper()
	c := r.lab.Client(vcenter).Client
	ctx := r.t.Context()
	hostRef := r.element(vcenter, host)
	pool, err := object.NewHostSystem(c, hostRef).ResourcePool(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	poolRef := pool.Reference()
	task, err := object.NewVirtualMachine(c, r.element(vcenter, vm)).Relocate(ctx,
		types.VirtualMachineRelocateSpec{Host: &hostRef, Pool: &poolRef}, types.VirtualMachineMovePriorityDefaultPriority)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := task.Wait(ctx); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) tags(vcenter string) *tags.Manager { return tags.NewManager(r.lab.REST(vcenter)) }

func eventually(t *testing.T, what string, cond func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = cond(); err == nil {
			return
		}
	}
	t.Fatalf("not within 20 s: %s: %v", what, err)
}
