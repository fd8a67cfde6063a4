package route_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/route"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	simnsx "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/nsxtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

const (
	cluster = "kubernetes"
	gateway = "/infra/tier-1s/workload"
)

// rig is an NSX Manager with a gateway.
type rig struct{ *nsxtest.Manager }

func start(t *testing.T) *rig {
	t.Helper()
	r := &rig{nsxtest.Start(t, simnsx.Options{Accounts: []simnsx.Account{
		{User: "ccm", Password: "right", Role: simnsx.EnterpriseAdmin}, {User: "auditor", Password: "right", Role: simnsx.Auditor},
	}})}
	r.Put(gateway, tree.Object{})
	return r
}

// routes lists the routes in NSX as "ID > next hops", sorted.
func (r *rig) routes() []string {
	var all []string
	for _, o := range r.Tree().All() {
		if o["resource_type"] == "StaticRoutes" {
			text := fmt.Sprint(o["id"], " >")
			for _, h := range o["next_hops"].([]any) {
				text += fmt.Sprint(" ", h.(tree.Object)["ip_address"])
			}
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return all
}

func (r *rig) expect(what string, want ...string) {
	r.Helper()
	if got := r.routes(); !slices.Equal(got, want) {
		r.Errorf("%s: NSX has %q, want %q", what, got, want)
	}
}

// world is a cluster with the nodes worker-0 and worker-1, whose UIDs are its own.
type world struct {
	uid   string
	nodes map[string]*corev1.Node
}

func newWorld(uid string) *world {
	w := &world{uid, map[string]*corev1.Node{}}
	for i := range 2 {
		name := fmt.Sprintf("worker-%d", i)
		w.nodes[name] = &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid + "-" + name)},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeHostName, Address: name},
				{Type: corev1.NodeExternalIP, Address: "192.0.2.9"},
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.0.0.%d", i+1)},
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("fd00::%d", i+1)},
			}},
		}
	}
	return w
}

// process starts a process of a cluster. before, unless nil, is called before each exchange.
func (r *rig) process(w *world, change func(*nsx.Config)) *route.Routes {
	r.Helper()
	cfg := nsx.Config{
		Host: r.Addr(), CAFile: r.CAFile, UserAgent: "test", CallTimeout: 2 * time.Second, Patience: time.Second,
		Credentials: func(context.Context) (nsx.Credentials, error) {
			return nsx.Credentials{User: "ccm", Password: "right"}, nil
		},
	}
	if change != nil {
		change(&cfg)
	}
	c, err := nsx.New(cfg)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c.Close(ctx)
	})
	return route.New(route.Config{
		Client: c, RouterPath: gateway,
		ClusterUID: func(context.Context) (string, error) { return w.uid, nil },
		Nodes: func(context.Context) (all []corev1.Node, _ error) {
			for _, n := range w.nodes {
				all = append(all, *n)
			}
			return all, nil
		},
		Node: func(_ context.Context, name string) (*corev1.Node, error) {
			if n := w.nodes[name]; n != nil {
				return n, nil
			}
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, name)
		},
	})
}

func (w *world) create(ctx context.Context, p *route.Routes, node, cidr string) error {
	return p.CreateRoute(ctx, cluster, string(w.nodes[node].UID), &cloudprovider.Route{TargetNode: types.NodeName(node), DestinationCIDR: cidr})
}

// list returns the listed routes as "NAME NODE CIDR".
func (r *rig) list(p *route.Routes) (all []string) {
	r.Helper()
	routes, err := p.ListRoutes(r.Context(), cluster)
	if err != nil {
		r.Fatal(err)
	}
	for _, one := range routes {
		all = append(all, fmt.Sprint(one.Name, " ", one.TargetNode, " ", one.DestinationCIDR))
	}
	return all
}

// TestRoutes: routes of both families are made, found by the next process, and deleted.
func TestRoutes(t *testing.T) {
	r, w := start(t), newWorld("one")
	p := r.process(w, nil)
	for _, one := range [][2]string{{"worker-0", "10.128.0.0/24"}, {"worker-1", "10.128.1.0/24"}, {"worker-1", "fd01:1::/64"}, {"worker-1", "10.128.1.0/24"}} {
		if err := w.create(t.Context(), p, one[0], one[1]); err != nil {
			t.Fatal(err)
		}
	}
	r.expect("made", "one-worker-0_10.128.0.0_24 > 10.0.0.1", "one-worker-1_10.128.1.0_24 > 10.0.0.2", "one-worker-1_fd01:1::_64 > fd00::2")
	want := []string{"one-worker-0_10.128.0.0_24 worker-0 10.128.0.0/24", "one-worker-1_10.128.1.0_24 worker-1 10.128.1.0/24", "one-worker-1_fd01:1::_64 worker-1 fd01:1::/64"}
	p = r.process(w, nil)
	if got := r.list(p); !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	routes, err := p.ListRoutes(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time is no error
		for _, one := range routes {
			if err := p.DeleteRoute(t.Context(), cluster, one); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.expect("deleted")
	if got := r.list(p); len(got) != 0 {
		t.Errorf("listed %q", got)
	}
}

// TestTwoClusters: clusters of one name at one gateway neither list nor delete nor replace each other's routes.
func TestTwoClusters(t *testing.T) {
	r, one, two := start(t), newWorld("one"), newWorld("two")
	a, b := r.process(one, nil), r.process(two, nil)
	if err := one.create(t.Context(), a, "worker-0", "10.128.0.0/24"); err != nil {
		t.Fatal(err)
	}
	if got := r.list(b); len(got) != 0 {
		t.Errorf("the other cluster lists %q", got)
	}
	err := b.DeleteRoute(t.Context(), cluster, &cloudprovider.Route{Name: "one-worker-0_10.128.0.0_24"})
	if err == nil || !strings.Contains(err.Error(), "left alone") {
		t.Errorf("deleted by the other cluster: %v", err)
	}
	err = two.create(t.Context(), r.process(two, nil), "worker-1", "10.128.0.0/24")
	if err == nil || !strings.Contains(err.Error(), "has another route") || !strings.Contains(err.Error(), "--cluster-cidr") {
		t.Errorf("the same network twice: %v", err)
	}
	r.expect("in the end", "one-worker-0_10.128.0.0_24 > 10.0.0.1")
}

// TestUpstreams: a route of upstream's provider is adopted when its node asks for it, and left alone without that.
func TestUpstreams(t *testing.T) {
	r, w := start(t), newWorld("one")
	for _, node := range []string{"one-worker-0", "gone"} {
		cidr := map[string]string{"one-worker-0": "10.128.0.0", "gone": "10.128.7.0"}[node]
		r.Put(gateway+"/static-routes/"+node+"_"+cidr+"_24", tree.Object{
			"display_name": "kubernetes_x", "network": cidr + "/24", "next_hops": []any{tree.Object{"ip_address": "10.0.0.77"}},
			"tags": []any{
				tree.Object{"scope": "vsphere.k8s.io/cluster-name", "tag": cluster},
				tree.Object{"scope": "vsphere.k8s.io/node-name", "tag": "worker-0"},
				tree.Object{"scope": "team", "tag": "net"},
			},
		})
	}
	p := r.process(w, nil)
	if got := r.list(p); len(got) != 0 {
		t.Errorf("listed before: %q", got)
	}
	if err := w.create(t.Context(), p, "worker-0", "10.128.0.0/24"); err != nil {
		t.Fatal(err)
	}
	if got := r.list(p); !slices.Equal(got, []string{"one-worker-0_10.128.0.0_24 worker-0 10.128.0.0/24"}) {
		t.Errorf("listed after: %q", got)
	}
	r.expect("adopted", "gone_10.128.7.0_24 > 10.0.0.77", "one-worker-0_10.128.0.0_24 > 10.0.0.1")
	o, err := r.Tree().Get(gateway + "/static-routes/one-worker-0_10.128.0.0_24")
	if err != nil || o["display_name"] != "kubernetes_worker-0_10.128.0.0/24" || !strings.Contains(fmt.Sprint(o["tags"]), "net") {
		t.Errorf("%v, %v", o, err)
	}
}

// TestAddressChanged: a route follows its node's address, in place, without being deleted.
func TestAddressChanged(t *testing.T) {
	r, w := start(t), newWorld("one")
	if err := w.create(t.Context(), r.process(w, nil), "worker-0", "10.128.0.0/24"); err != nil {
		t.Fatal(err)
	}
	w.nodes["worker-0"].Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.50"}}
	p := r.process(w, nil)
	r.list(p)
	r.expect("corrected", "one-worker-0_10.128.0.0_24 > 10.0.0.50")
	before, err := r.Tree().Get(gateway + "/static-routes/one-worker-0_10.128.0.0_24")
	if err != nil {
		t.Fatal(err)
	}
	r.list(r.process(w, nil))
	if after, err := r.Tree().Get(gateway + "/static-routes/one-worker-0_10.128.0.0_24"); err != nil || after["_revision"] != before["_revision"] {
		t.Errorf("written again: %v, %v", after, err)
	}
}

// TestKilled: a process that ends at any call of a create or a delete leaves nothing that the next one does not find.
func TestKilled(t *testing.T) {
	killed := errors.New("killed")
	for n := int32(1); ; n++ {
		r, w := start(t), newWorld("one")
		var calls atomic.Int32
		ctx, kill := context.WithCancelCause(t.Context())
		p := r.process(w, func(c *nsx.Config) {
			c.OnCall = func(nsx.Call) {
				if calls.Add(1) == n {
					kill(killed)
				}
			}
		})
		err := w.create(ctx, p, "worker-0", "10.128.0.0/24")
		if err == nil {
			err = p.DeleteRoute(ctx, cluster, &cloudprovider.Route{Name: "one-worker-0_10.128.0.0_24"})
		}
		done := context.Cause(ctx) == nil
		kill(nil)
		if done && err != nil {
			t.Fatal(err)
		}
		next := r.process(w, nil)
		if err := w.create(t.Context(), next, "worker-0", "10.128.0.0/24"); err != nil && !strings.Contains(err.Error(), "after some minutes") {
			t.Fatalf("after a kill at call %d: %v", n, err)
		}
		if got := r.routes(); len(got) > 1 {
			t.Errorf("after a kill at call %d: NSX has %q", n, got)
		}
		if done {
			break
		}
	}
}

// TestProblems: an error of NSX deletes nothing, and says what to do.
func TestProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		rule   gate.Action
		client func(*nsx.Config)
		want   string
	}{
		"down":     {rule: gate.Outage{}, want: "check that NSX is up"},
		"conflict": {rule: gate.RESTError{Type: "INTERNAL_SERVER_ERROR"}, want: "INTERNAL_SERVER_ERROR"},
		"password": {client: func(c *nsx.Config) {
			c.Credentials = func(context.Context) (nsx.Credentials, error) {
				return nsx.Credentials{User: "ccm", Password: "wrong"}, nil
			}
		}, want: "correct user and password of nsxt"},
		"role": {client: func(c *nsx.Config) {
			c.Credentials = func(context.Context) (nsx.Credentials, error) {
				return nsx.Credentials{User: "auditor", Password: "right"}, nil
			}
		}, want: "a role that may change static routes"},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := start(t), newWorld("one")
			if err := w.create(t.Context(), r.process(w, nil), "worker-0", "10.128.0.0/24"); err != nil {
				t.Fatal(err)
			}
			if tc.rule != nil {
				if _, err := r.Gate().Add(gate.Rule{Action: tc.rule}); err != nil {
					t.Fatal(err)
				}
			}
			p := r.process(w, tc.client)
			err := p.DeleteRoute(t.Context(), cluster, &cloudprovider.Route{Name: "one-worker-0_10.128.0.0_24"})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("delete: %v, want %q", err, tc.want)
			}
			if err := w.create(t.Context(), p, "worker-1", "10.128.1.0/24"); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("create: %v, want %q", err, tc.want)
			}
			r.expect("in the end", "one-worker-0_10.128.0.0_24 > 10.0.0.1")
		})
	}
}

// TestBadNodes: a node without an address of the family, an unknown one, and a route that NSX does not realize.
func TestBadNodes(t *testing.T) {
	r, w := start(t), newWorld("one")
	p := r.process(w, nil)
	w.nodes["worker-1"].Status.Addresses = w.nodes["worker-1"].Status.Addresses[:3]
	if err := w.create(t.Context(), p, "worker-1", "fd01:1::/64"); err == nil || !strings.Contains(err.Error(), "of IPv6, the family of its pod CIDR") {
		t.Errorf("no address: %v", err)
	}
	err := p.CreateRoute(t.Context(), cluster, "x", &cloudprovider.Route{TargetNode: "nobody", DestinationCIDR: "10.128.0.0/24"})
	if err == nil || !strings.Contains(err.Error(), "addresses of node nobody") {
		t.Errorf("unknown: %v", err)
	}
	r.expect("nothing is made")
}
