package migrated_test

import (
	"context"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/migrated"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const (
	agent = "migrated-test"
	gib   = 1 << 30

	one = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  vcenters:
    - name: us
      datacenters:
        - name: dc
          clusters: [{name: c, hosts: [{name: h}]}]
          vms: [{name: "vm-{n}", replicas: 2, cluster: c}]
`
	two = one + `
    - name: eu
      datacenters:
        - name: dc
          clusters: [{name: c, hosts: [{name: h}]}]
          vms: [{name: "vm-{n}", replicas: 2, cluster: c}]
`
)

// rig is simulated vCenters, a cluster with records, and drivers that use both.
type rig struct {
	*testing.T
	lab     *sim.Lab
	clients []*vcenter.Client
	cluster *dynamicfake.FakeDynamicClient
	nodes   []volume.Node
}

func start(t *testing.T, source string) *rig {
	t.Helper()
	top, err := topology.Load("test.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, lab: sim.StartWith(t, sim.Options{Topology: top})}
	r.cluster = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{migrated.Resource(): migrated.Kind + "List"})
	for _, v := range r.lab.VCenters() {
		r.clients = append(r.clients, r.connect(v))
	}
	for _, v := range r.lab.VCenters() {
		for _, name := range []string{"vm-1", "vm-2"} {
			m, err := find.NewFinder(r.lab.Client(v.Name()).Client).VirtualMachine(t.Context(), "/dc/vm/"+name)
			if err != nil {
				t.Fatal(err)
			}
			r.nodes = append(r.nodes, volume.Node{ID: v.Name() + "/" + name, Name: name, VCenter: v.Name(), VM: m.Reference().Value})
		}
	}
	return r
}

func (r *rig) connect(v *sim.VCenter) *vcenter.Client {
	r.Helper()
	c, err := vcenter.New(vcenter.Config{
		Name: v.Name(), Server: v.Host(), Port: v.Port(), CAData: r.lab.CA(), UserAgent: agent,
		Credentials: func(context.Context) (vcenter.Credentials, error) {
			return vcenter.Credentials{User: v.User(), Password: v.Password()}, nil
		},
		CallTimeout: 10 * time.Second,
	})
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Run(ctx)
	}()
	r.Cleanup(func() {
		cancel()
		<-done
	})
	wait, stop := context.WithTimeout(r.Context(), 10*time.Second)
	defer stop()
	if _, err := c.Wait(wait); err != nil {
		r.Fatal(err)
	}
	return c
}

// driver is the driver in another process, without any cache.
func (r *rig) driver(urls ...string) *migrated.Store {
	s := store.New(store.Options{
		Clients: r.clients, Cluster: store.Cluster{ID: "cluster-1"},
		Nodes: func(vc string) (all []volume.Node, _ error) {
			for _, n := range r.nodes {
				if n.VCenter == vc {
					all = append(all, n)
				}
			}
			return all, nil
		},
	})
	r.Cleanup(s.Close)
	return migrated.New(migrated.Config{CNS: s, Records: migrated.NewRecords(r.cluster), DatastoreURLs: func() []string { return urls }})
}

// disk creates a virtual disk as the in-tree provider did, and returns its path.
func (r *rig) disk(vc, file string) string {
	r.Helper()
	c, ctx := r.lab.Client(vc).Client, r.Context()
	finder := find.NewFinder(c)
	dc, err := finder.Datacenter(ctx, "/dc")
	if err != nil {
		r.Fatal(err)
	}
	ds, err := finder.SetDatacenter(dc).DefaultDatastore(ctx)
	if err != nil {
		r.Fatal(err)
	}
	if err := object.NewFileManager(c).MakeDirectory(ctx, ds.Path("kubevols"), dc, true); err != nil {
		r.Log(err)
	}
	task, err := object.NewVirtualDiskManager(c).CreateVirtualDisk(ctx, ds.Path(file), dc, &types.FileBackedVirtualDiskSpec{
		VirtualDiskSpec: types.VirtualDiskSpec{DiskType: string(types.VirtualDiskTypeThin), AdapterType: string(types.VirtualDiskAdapterTypeLsiLogic)},
		CapacityKb:      1 << 20,
	})
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		r.Fatal(err)
	}
	return ds.Path(file)
}

// registered counts how often CNS was called to create a volume.
func (r *rig) registered() (n int64) {
	for _, v := range r.lab.VCenters() {
		for _, s := range v.Gate().Stats() {
			if s.Client == agent && s.Method == "CnsCreateVolume" {
				n += s.Calls
			}
		}
	}
	return n
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}
