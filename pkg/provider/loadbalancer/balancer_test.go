package loadbalancer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/loadbalancer"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/nsxtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

// TestLife: the life of Services. NSX is as before at the end.
func TestLife(t *testing.T) {
	r := start(t, rigOptions{realize: 50 * time.Millisecond})
	w := newWorld("uid")
	p := r.process(w, processOptions{})
	web, dns := w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080), nsxtest.TCP(443, 30443))), w.add(nsxtest.Service("dns", nsxtest.UDP(53, 30053)))
	if got := []string{r.ensure(p, web, 2), r.ensure(p, dns, 2)}; !slices.Equal(got, []string{"10.20.0.10", "10.20.0.11"}) {
		t.Errorf("the addresses are %v", got)
	}
	const both = "IpAddressAllocation:2 LBPool:3 LBService:1 LBTcpMonitorProfile:2 LBVirtualServer:3"
	if got := r.counts(""); got != both {
		t.Errorf("the tree has %s, want %s", got, both)
	}
	before := r.objects()
	if got := r.ensure(p, web, 2); got != "10.20.0.10" {
		t.Errorf("ensured again, the address is %s", got)
	}
	if diff := cmp.Diff(before, r.objects()); diff != "" {
		t.Errorf("ensuring again changes the tree:\n%s", diff)
	}
	restarted := r.process(w, processOptions{})
	if got := r.ensure(restarted, web, 2); got != "10.20.0.10" {
		t.Errorf("after a restart, the address is %s", got)
	}
	if diff := cmp.Diff(before, r.objects()); diff != "" {
		t.Errorf("ensuring again after a restart changes the tree:\n%s", diff)
	}
	status, exists, err := p.GetLoadBalancer(t.Context(), cluster, web)
	if err != nil || !exists || status.Ingress[0].IP != "10.20.0.10" {
		t.Errorf("GetLoadBalancer: %v, %v, %v", status, exists, err)
	}
	if err := p.UpdateLoadBalancer(t.Context(), cluster, web, nsxtest.Nodes(3)); err != nil {
		t.Fatal(err)
	}
	for _, o := range r.objects() {
		if o["resource_type"] == "LBPool" && o["display_name"] == "cluster:kubernetes:default/web" && len(o["members"].([]any)) != 3 {
			t.Errorf("after UpdateLoadBalancer a pool has the members %v", o["members"])
		}
	}
	web.Spec.Ports = []corev1.ServicePort{nsxtest.TCP(443, 31443), nsxtest.TCP(8080, 30080)}
	r.ensure(p, web, 3)
	if got := r.counts(""); got != both {
		t.Errorf("with another port the tree has %s, want %s", got, both)
	}
	for _, o := range r.objects() {
		if strings.Contains(fmt.Sprint(o["tags"]), "tag:TCP/443]") {
			switch o["resource_type"] {
			case "LBVirtualServer":
				if got := fmt.Sprint(o["default_pool_member_ports"]); got != "[31443]" {
					t.Errorf("after a change of the node port the virtual server has %s", got)
				}
			case "LBTcpMonitorProfile":
				if o["monitor_port"] != int64(31443) {
					t.Errorf("after a change of the node port the monitor has %v", o["monitor_port"])
				}
			}
		}
	}
	for _, s := range []*corev1.Service{web, dns} {
		if err := p.EnsureLoadBalancerDeleted(t.Context(), cluster, s); err != nil {
			t.Fatal(err)
		}
		if _, exists, err := p.GetLoadBalancer(t.Context(), cluster, s); exists || err != nil {
			t.Errorf("after the deletion of %s: %v, %v", s.Name, exists, err)
		}
	}
	if got := r.counts(""); got != "" {
		t.Errorf("at the end the tree has %s", got)
	}
	// The paths of deleted objects are blocked for a time.
	if got := r.ensure(p, web, 1); got == "" {
		t.Error("a Service that is made again has no address")
	}
}

// TestBlockedPath: a process that does not know what was deleted finds other paths.
func TestBlockedPath(t *testing.T) {
	r := start(t, rigOptions{realize: 200 * time.Millisecond})
	w := newWorld("uid")
	web := w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080)))
	r.ensure(r.process(w, processOptions{}), web, 1)
	if err := r.process(w, processOptions{}).EnsureLoadBalancerDeleted(t.Context(), cluster, web); err != nil {
		t.Fatal(err)
	}
	r.ensure(r.process(w, processOptions{}), web, 1)
	if got, want := r.counts(""), "IpAddressAllocation:1 LBPool:1 LBService:1 LBTcpMonitorProfile:1 LBVirtualServer:1"; got != want {
		t.Errorf("the tree has %s, want %s", got, want)
	}
}

// TestClasses: the annotation selects the class, and a load balancer that exists keeps its class.
func TestClasses(t *testing.T) {
	r := start(t, rigOptions{})
	w := newWorld("uid")
	s := settings()
	s.SNATDisabled, s.Size, s.Tags = true, "MEDIUM", map[string]string{"env": "prod"}
	p := r.process(w, processOptions{settings: s})
	web := w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080)))
	web.Annotations = map[string]string{loadbalancer.ClassAnnotation: " public "}
	if got := r.ensure(p, web, 1); got != "203.0.113.10" {
		t.Errorf("the address is %s", got)
	}
	for _, o := range r.objects() {
		if !strings.Contains(fmt.Sprint(o["tags"]), "map[scope:env tag:prod]") {
			t.Errorf("%s has the tags %v", o["path"], o["tags"])
		}
		switch o["resource_type"] {
		case "LBService":
			if o["size"] != "MEDIUM" {
				t.Errorf("the size is %v", o["size"])
			}
		case "LBPool":
			if got := fmt.Sprint(o["snat_translation"]); got != "map[type:LBSnatDisabled]" {
				t.Errorf("snat_translation is %s", got)
			}
		}
	}
	web.Annotations = nil
	web.Spec.Ports = append(web.Spec.Ports, nsxtest.TCP(81, 30081))
	if got := r.ensure(p, web, 1); got != "203.0.113.10" {
		t.Errorf("with another class, the address is %s", got)
	}
	if got, want := r.counts(""), "IpAddressAllocation:1 LBPool:2 LBService:1 LBTcpMonitorProfile:2 LBVirtualServer:2"; got != want {
		t.Errorf("the tree has %s, want %s", got, want)
	}
	if said := w.said(); len(said) != 1 || !strings.HasPrefix(said[0], "web Warning LoadBalancerClassKept: the load balancer stays in the class public") {
		t.Errorf("the Events are %q", said)
	}
	// The class is removed from the configuration: what it made can be deleted.
	s = settings()
	delete(s.Classes, "public")
	p = r.process(w, processOptions{settings: s})
	if err := p.EnsureLoadBalancerDeleted(t.Context(), cluster, web); err != nil {
		t.Fatal(err)
	}
	if got := r.counts(""); got != "" {
		t.Errorf("at the end the tree has %s", got)
	}
}

// TestClassChangedBetween: an allocation of an earlier attempt, for another class, does not stay.
func TestClassChangedBetween(t *testing.T) {
	r := start(t, rigOptions{})
	w := newWorld("uid")
	web := w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := r.process(w, processOptions{onCall: func() {
		for _, o := range r.objects() {
			if o["resource_type"] == "IpAddressAllocation" {
				cancel()
			}
		}
	}})
	if _, err := p.EnsureLoadBalancer(ctx, cluster, web, nsxtest.Nodes(1)); err == nil {
		t.Fatal("the first attempt succeeds")
	}
	web.Annotations = map[string]string{loadbalancer.ClassAnnotation: "public"}
	if got := r.ensure(r.process(w, processOptions{}), web, 1); got != "203.0.113.10" {
		t.Errorf("the address is %s", got)
	}
	if got, want := r.counts(""), "IpAddressAllocation:1 LBPool:1 LBService:1 LBTcpMonitorProfile:1 LBVirtualServer:1"; got != want {
		t.Errorf("the tree has %s, want %s", got, want)
	}
}

// TestTwoClusters: clusters of one gateway share its load balancer service, and nothing else. The second cluster has the same
// name.
func TestTwoClusters(t *testing.T) {
	for _, name := range []string{"other", cluster} {
		t.Run(name, func(t *testing.T) {
			r := start(t, rigOptions{})
			one, two := newWorld("one"), newWorld("two")
			p1, p2 := r.process(one, processOptions{}), r.process(two, processOptions{})
			web1, web2 := one.add(nsxtest.Service("web", nsxtest.TCP(80, 30080))), two.add(nsxtest.Service("web", nsxtest.TCP(80, 30080)))
			r.ensure(p1, web1, 1)
			status, err := p2.EnsureLoadBalancer(t.Context(), name, web2, nsxtest.Nodes(2))
			if err != nil || status.Ingress[0].IP != "10.20.0.11" {
				t.Fatal(status, err)
			}
			if got, want := r.counts(""), "IpAddressAllocation:2 LBPool:2 LBService:1 LBTcpMonitorProfile:2 LBVirtualServer:2"; got != want {
				t.Errorf("the tree has %s, want %s", got, want)
			}
			if said := two.said(); name == cluster && (len(said) != 1 || !strings.Contains(said[0], "give each cluster its own --cluster-name")) {
				t.Errorf("the Events are %q", said)
			}
			before := r.objects()
			one.remove(web1)
			if err := p2.Collect(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, r.objects()); diff != "" {
				t.Errorf("the second cluster collects what the first has:\n%s", diff)
			}
			// The first cluster made the load balancer service. The second one keeps it in use.
			if err := p1.EnsureLoadBalancerDeleted(t.Context(), cluster, web1); err != nil {
				t.Fatal(err)
			}
			if got, want := r.counts(""), "IpAddressAllocation:1 LBPool:1 LBService:1 LBTcpMonitorProfile:1 LBVirtualServer:1"; got != want {
				t.Errorf("after the deletion in the first cluster the tree has %s, want %s", got, want)
			}
			if err := p2.EnsureLoadBalancerDeleted(t.Context(), name, web2); err != nil {
				t.Fatal(err)
			}
			if err := p1.Collect(t.Context(), cluster); err != nil {
				t.Fatal(err)
			}
			if got := r.counts(""); got != "" {
				t.Errorf("at the end the tree has %s", got)
			}
		})
	}
}

// TestServiceVanishes: the load balancer service that a cluster uses is deleted by the one that made it.
func TestServiceVanishes(t *testing.T) {
	r := start(t, rigOptions{realize: 50 * time.Millisecond})
	one, two := newWorld("one"), newWorld("two")
	p1, p2 := r.process(one, processOptions{}), r.process(two, processOptions{})
	web := one.add(nsxtest.Service("web", nsxtest.TCP(80, 30080)))
	r.ensure(p1, web, 1)
	if _, _, err := p2.GetLoadBalancer(t.Context(), "two", web); err != nil { // it reads NSX
		t.Fatal(err)
	}
	if err := p1.EnsureLoadBalancerDeleted(t.Context(), cluster, web); err != nil {
		t.Fatal(err)
	}
	if _, err := p2.EnsureLoadBalancer(t.Context(), "two", two.add(nsxtest.Service("web", nsxtest.TCP(80, 30080))), nsxtest.Nodes(1)); err != nil {
		t.Error(err)
	}
	if got, want := r.counts(""), "IpAddressAllocation:1 LBPool:1 LBService:1 LBTcpMonitorProfile:1 LBVirtualServer:1"; got != want {
		t.Errorf("the tree has %s, want %s", got, want)
	}
}

// TestCollect: what a Service without a finalizer leaves is deleted, and nothing in doubt.
func TestCollect(t *testing.T) {
	r := start(t, rigOptions{})
	w := newWorld("uid")
	p := r.process(w, processOptions{})
	kept, gone := w.add(nsxtest.Service("kept", nsxtest.TCP(80, 30080))), w.add(nsxtest.Service("gone", nsxtest.TCP(80, 30081), nsxtest.UDP(53, 30053)))
	r.ensure(p, kept, 1)
	r.ensure(p, gone, 1)
	// As upstream's provider makes it, or a user by hand.
	stray := "/infra/lb-pools/2c3e1a55-0d2c-4a39-9d0e-3a3f0f0b7a11"
	r.Put(stray, tree.Object{"tags": []any{
		tree.Object{"scope": "owner", "tag": loadbalancer.AppName}, tree.Object{"scope": "cluster", "tag": cluster}, tree.Object{"scope": "service", "tag": "default/none"},
	}})
	want := r.counts("default/kept")
	for range 2 {
		if err := p.Collect(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.counts("default/gone"); got != "IpAddressAllocation:1 LBPool:2 LBTcpMonitorProfile:1 LBVirtualServer:2" {
		t.Errorf("while the Service exists, the tree has %s of it", got)
	}
	w.remove(gone)
	if err := p.Collect(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if got := r.counts("default/gone"); got != "" {
		t.Errorf("the deleted Service has left %s", got)
	}
	if got := r.counts("default/kept"); got != want {
		t.Errorf("the other Service has %s, had %s", got, want)
	}
	if _, err := r.Tree().Get(stray); err != nil {
		t.Errorf("an object in doubt is deleted: %v", err)
	}
	w.mu.Lock()
	clear(w.services)
	w.mu.Unlock()
	if err := p.Collect(t.Context(), cluster); err == nil || r.counts("default/kept") != want {
		t.Errorf("a cluster without any Service: %v, the tree has %s", err, r.counts("default/kept"))
	}
}

// TestShared: operations in a row share one reading of NSX.
func TestShared(t *testing.T) {
	r := start(t, rigOptions{})
	w := newWorld("uid")
	p := r.process(w, processOptions{})
	r.ensure(p, w.add(nsxtest.Service("first", nsxtest.TCP(80, 30080))), 1)
	before := p.calls()
	r.ensure(p, w.add(nsxtest.Service("second", nsxtest.TCP(80, 30081))), 1)
	if made := p.calls() - before; made > 6 { // an allocation and its address, a monitor, a pool, a virtual server
		t.Errorf("a Service takes %d calls", made)
	}
}

// TestTwoBegin: two clusters make the load balancer service of a gateway at the same time. A failed attempt is repeated, as the service
// controller does.
func TestTwoBegin(t *testing.T) {
	r := start(t, rigOptions{})
	done := make(chan error)
	for i := range 2 {
		w := newWorld(fmt.Sprint("cluster ", i))
		p := r.process(w, processOptions{})
		go func() {
			web, name := w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080))), fmt.Sprint("c", i)
			_, err := p.EnsureLoadBalancer(t.Context(), name, web, nsxtest.Nodes(1))
			for again := 0; err != nil && again < 3; again++ {
				t.Log(err)
				_, err = p.EnsureLoadBalancer(t.Context(), name, web, nsxtest.Nodes(1))
			}
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got, want := r.counts(""), "IpAddressAllocation:2 LBPool:2 LBService:1 LBTcpMonitorProfile:2 LBVirtualServer:2"; got != want {
		t.Errorf("the tree has %s, want %s", got, want)
	}
}
