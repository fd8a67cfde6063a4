package nodes

import (
	"context"
	"fmt"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/tagged"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

type manyNodes []KubeNode

func (m manyNodes) Nodes() ([]KubeNode, bool) { return append([]KubeNode(nil), m...), true }
func (m manyNodes) Listen(func()) func()      { return func() {} }

// many is 1000 nodes on 100 hosts in 10 zones of one vCenter, with 200 datastores.
func many(b *testing.B) (*Nodes, *member) {
	b.Helper()
	client, err := vcenter.New(vcenter.Config{Server: "nowhere", UserAgent: "bench", Credentials: noCredentials})
	if err != nil {
		b.Fatal(err)
	}
	var cluster manyNodes
	obj := func(kind string, n int) ref { return ref{Type: kind, Value: fmt.Sprintf("%s-%d", kind, n)} }
	p := newInventory()
	tags := &tagState{of: []tagged.Objects{{}, {}}, read: true}
	for z := range 10 {
		p.entities[obj("ClusterComputeResource", z)] = entity{name: fmt.Sprint("cluster-", z), parent: obj("Datacenter", 1)}
		tags.of[0][obj("ClusterComputeResource", z)] = []string{fmt.Sprint("zone-", z)}
	}
	p.entities[obj("Datacenter", 1)] = entity{name: "dc"}
	for h := range 100 {
		p.entities[obj("HostSystem", h)] = entity{name: fmt.Sprint("host-", h), parent: obj("ClusterComputeResource", h%10)}
	}
	for i := range 1000 {
		u := match.UUID{1, byte(i >> 8), byte(i)}
		v := &vm{ref: obj("VirtualMachine", i), name: fmt.Sprint("vm-", i), uuid: u, host: obj("HostSystem", i%100)}
		p.vms[v.ref], p.byUUID[u] = v, []*vm{v}
		cluster = append(cluster, KubeNode{Name: v.name, SystemUUID: u.String()})
	}
	for d := range 200 {
		store := &datastore{ref: obj("Datastore", d), name: fmt.Sprint("ds-", d), free: int64(d) << 30, accessible: true, mounts: map[ref]mount{}}
		for h := range 100 {
			if d >= 20 || d%10 == h%10 { // the first ones are of one zone each
				store.mounts[obj("HostSystem", h)] = mount{accessible: true}
			}
		}
		p.datastores[store.ref] = store
	}
	n, err := New(Config{Cluster: cluster, VCenters: []VCenter{{Client: client}}, Categories: []Category{{Name: "k8s-zone"}}})
	if err != nil {
		b.Fatal(err)
	}
	m := (*n.members.Load())[0]
	m.inventory, m.synced = p, true
	m.tags.state.Store(tags)
	return n, m
}

func noCredentials(context.Context) (vcenter.Credentials, error) { return vcenter.Credentials{}, nil }

// BenchmarkLayout measures the cost of a change, such as a VM's host.
func BenchmarkLayout(b *testing.B) {
	n, _ := many(b)
	for b.Loop() {
		n.changed()
		if l := n.current(); len(l.nodes) != 1000 || len(l.segments) != 10 {
			b.Fatal(len(l.nodes), len(l.segments))
		}
	}
}

// BenchmarkChoose measures the search for one volume, without a policy.
func BenchmarkChoose(b *testing.B) {
	n, m := many(b)
	l := n.current()
	for b.Loop() {
		s := &placement{nodes: n, layout: l, want: volume.Requirement{Capacity: 1 << 30}}
		seg := l.segments[3]
		c := choice{in: m, of: seg.of, stores: s.fit(m, "", seg.hosts)}
		if places := c.places(l); len(places) == 0 {
			b.Fatal(s.ruledOut)
		}
	}
}

// BenchmarkNode measures the lookup for an attach.
func BenchmarkNode(b *testing.B) {
	n, _ := many(b)
	id := match.UUID{1, 0, 7}.String()
	for b.Loop() {
		if _, err := n.Node(b.Context(), id); err != nil {
			b.Fatal(err)
		}
	}
}
