package loadbalancer_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/loadbalancer"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/nsxtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

var rounds = flag.Int("rounds", 1, "how often each kill is tried")

// killer ends a process after some calls: nothing of it reaches NSX any more.
type killer struct {
	ctx  context.Context
	kill context.CancelFunc

	mu   sync.Mutex
	left int
}

func newKiller(t *testing.T, calls int) *killer {
	k := &killer{left: calls}
	k.ctx, k.kill = context.WithCancel(t.Context())
	if calls == 0 {
		k.kill()
	}
	return k
}

func (k *killer) called() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left--; k.left == 0 {
		k.kill()
	}
}

// other makes the Services of another cluster of the same name, and returns a function that reports whether they have changed.
func (r *rig) other() (unchanged func()) {
	r.Helper()
	w := newWorld("other")
	p := r.process(w, processOptions{})
	r.ensure(p, w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080))), 2)
	r.ensure(p, w.add(nsxtest.Service("theirs", nsxtest.UDP(53, 30053))), 1)
	mine := func() map[string]tree.Object {
		all := r.objects()
		for path, o := range all {
			if o["resource_type"] == "LBService" {
				delete(all, path)
			}
		}
		return all
	}
	before := mine()
	return func() {
		r.Helper()
		now := mine()
		for path := range now {
			if before[path] == nil {
				delete(now, path)
			}
		}
		if diff := cmp.Diff(before, now); diff != "" {
			r.Errorf("objects of another cluster are changed:\n%s", diff)
		}
	}
}

const (
	twoPorts = "IpAddressAllocation:1 LBPool:2 LBTcpMonitorProfile:1 LBVirtualServer:2"
)

// own returns the counts of the objects of default/web without those of the other cluster, which has one of each.
func (r *rig) own(others map[string]bool) string {
	counts := map[string]int{}
	for path, o := range r.objects() {
		if !others[path] && strings.Contains(fmt.Sprint(o["tags"]), " tag:default/web]") {
			counts[o["resource_type"].(string)]++
		}
	}
	return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(counts), "map["), "]")
}

func (r *rig) paths() map[string]bool {
	all := map[string]bool{}
	for path := range r.objects() {
		all[path] = true
	}
	return all
}

// TestKilled: the process ends after each call of a create and of a delete, before it and with its answer lost. The next process
// makes the same load balancer, once; or deletes all of it, at the latest with
// the next collection if a call of the dead process arrives late; or collects all of it if the Service is gone. Another cluster of the
// same name at the same gateway keeps what it has. -rounds=50 repeats each, in which the calls that run at the same time differ.
func TestKilled(t *testing.T) {
	for _, end := range []string{"create", "delete", "collect"} {
		for _, during := range []string{"create", "delete"} {
			t.Run(during+" then "+end, func(t *testing.T) {
				t.Parallel()
				for round := range *rounds {
					n, done := 0, false
					for ; !done; n++ {
						t.Run(fmt.Sprintf("round %d, %d calls", round, n), func(t *testing.T) { done = killedAt(t, n, during, end) })
					}
					if n < 6 {
						t.Fatalf("a %s takes %d calls only", during, n)
					}
					if t.Failed() {
						return
					}
				}
			})
		}
	}
}

// killedAt is TestKilled after n calls. It returns true if the process did all of its work.
func killedAt(t *testing.T, n int, during, end string) (done bool) {
	r := start(t, rigOptions{})
	unchanged := r.other()
	others := r.paths()
	w := newWorld("ours")
	web := w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080), nsxtest.UDP(53, 30053)))
	k := newKiller(t, n)
	if during == "delete" {
		r.ensure(r.process(w, processOptions{}), web, 2)
	}
	victim := r.process(w, processOptions{onCall: k.called})
	var err error
	if during == "create" {
		_, err = victim.EnsureLoadBalancer(k.ctx, cluster, web, nsxtest.Nodes(2))
	} else {
		err = victim.EnsureLoadBalancerDeleted(k.ctx, cluster, web)
	}
	done = err == nil && k.ctx.Err() == nil
	next := r.process(w, processOptions{})
	switch end {
	case "create":
		address := r.ensure(next, web, 2)
		if again := r.ensure(r.process(w, processOptions{}), web, 2); again != address {
			t.Errorf("the address was %s and is %s", address, again)
		}
		if got := r.own(others); got != twoPorts {
			t.Errorf("NSX has %s, want %s", got, twoPorts)
		}
	case "delete":
		if err := next.EnsureLoadBalancerDeleted(t.Context(), cluster, web); err != nil {
			t.Errorf("%v", err)
		}
		if _, exists, err := next.GetLoadBalancer(t.Context(), cluster, web); exists || err != nil {
			t.Errorf("it exists: %v, %v", exists, err)
		}
		// A call of the dead process may reach NSX after that. What it makes goes with the next collection.
		if r.own(others) == "" {
			break
		}
		fallthrough
	case "collect":
		w.remove(web)
		if err := next.Collect(t.Context(), cluster); err != nil {
			t.Errorf("%v", err)
		}
	}
	if got := r.own(others); end != "create" && got != "" {
		t.Errorf("NSX still has %s", got)
	}
	unchanged()
	return done
}

// TestLateCall: a call of a dead process arrives in the middle of the delete, after the objects were read: the virtual server that it makes
// keeps the pool in use. It is deleted, too. A virtual server of another user stays, and the error says so.
func TestLateCall(t *testing.T) {
	for who, want := range map[string]string{"the dead process": "", "another user": "remove the reference, which this provider has not made"} {
		t.Run(who, func(t *testing.T) {
			r := start(t, rigOptions{})
			w := newWorld("ours")
			web := w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080)))
			r.ensure(r.process(w, processOptions{}), web, 1)
			var server tree.Object
			for _, o := range r.objects() {
				if o["resource_type"] == "LBVirtualServer" {
					server = tree.Object{}
					for _, field := range []string{"display_name", "tags", "ip_address", "ports", "pool_path", "lb_service_path", "application_profile_path"} {
						server[field] = o[field]
					}
					server["path"] = o["path"]
				}
			}
			path := server["path"].(string)
			delete(server, "path")
			if want != "" {
				path = "/infra/lb-virtual-servers/by-hand"
				delete(server, "tags")
			}
			var once sync.Once
			deletes := r.process(w, processOptions{onCall: func() {
				if !strings.Contains(r.counts(""), "LBVirtualServer") {
					once.Do(func() { r.Put(path, server) })
				}
			}})
			err := deletes.EnsureLoadBalancerDeleted(t.Context(), cluster, web)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%v, want %q", err, want)
			}
			if got := r.counts(""); want == "" && got != "" {
				t.Errorf("NSX still has %s", got)
			}
		})
	}
}

// TestKilledAlone: as TestKilled, of a cluster that has the gateway for itself: its load balancer service does not stay.
func TestKilledAlone(t *testing.T) {
	for round := range *rounds {
		done := false
		for n := 0; !done; n++ {
			t.Run(fmt.Sprintf("round %d, %d calls", round, n), func(t *testing.T) {
				r := start(t, rigOptions{})
				w := newWorld("ours")
				web := w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080)))
				r.ensure(r.process(w, processOptions{}), web, 1)
				k := newKiller(t, n)
				err := r.process(w, processOptions{onCall: k.called}).EnsureLoadBalancerDeleted(k.ctx, cluster, web)
				done = err == nil && k.ctx.Err() == nil
				w.remove(web)
				if err := r.process(w, processOptions{}).Collect(t.Context(), cluster); err != nil {
					t.Fatal(err)
				}
				if got := r.counts(""); got != "" {
					t.Fatalf("NSX still has %s", got)
				}
			})
			if t.Failed() {
				return
			}
		}
	}
}

// hasty and patient are the limits of a client: while a fault has to be waited for, and while nothing has.
func hasty(c *nsx.Config)   { c.CallTimeout, c.Patience = 300*time.Millisecond, time.Second }
func patient(c *nsx.Config) { c.CallTimeout, c.Patience = 20*time.Second, time.Minute }

// TestFaults: what each fault says on the Service, and that after it the load balancer is as without it.
func TestFaults(t *testing.T) {
	poolCalls := gate.Match{Methods: []string{"PUT /policy/api/v1/infra/lb-pools/{id}"}}
	for name, tc := range map[string]struct {
		rule gate.Rule
		want string // "" if the first attempt succeeds
		soon bool   // the service controller tries again soon
	}{
		"down":              {gate.Rule{Action: gate.Outage{}}, "no answer", true},
		"down in between":   {gate.Rule{Match: poolCalls, Action: gate.Outage{}}, "check that NSX is up and reachable", true},
		"hangs":             {gate.Rule{Match: poolCalls, Action: gate.Hang{}}, "no answer", true},
		"slow":              {gate.Rule{Action: gate.Latency{Delay: 20 * time.Millisecond}}, "", false},
		"503":               {gate.Rule{Match: poolCalls, Action: gate.RESTError{Type: "SERVICE_UNAVAILABLE", Message: "starting"}}, "busy", true},
		"503 once":          {gate.Rule{Match: poolCalls, Action: gate.RESTError{Type: "SERVICE_UNAVAILABLE", Message: "starting"}, Count: 1}, "", false},
		"429":               {gate.Rule{Match: poolCalls, Action: gate.Throttle{Rate: 1e-9, Code: 429}}, "busy", true},
		"412":               {gate.Rule{Match: poolCalls, Action: gate.RESTError{Type: "PRECONDITION_FAILED", Message: "changed"}}, "changed (code 604)", false},
		"answer of a proxy": {gate.Rule{Match: poolCalls, Action: gate.HTTPStatus{Code: 502}}, "no answer", true},
		"answer is lost":    {gate.Rule{Match: gate.Match{Methods: []string{"PUT /policy/*"}}, Action: gate.Reset{Bytes: 8}, Count: 4}, "", false},
		"sessions end":      {gate.Rule{Action: gate.DropSession{After: 2}, Count: 3}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, rigOptions{})
			unchanged := r.other()
			others := r.paths()
			w := newWorld("ours")
			limits := patient
			if tc.want != "" {
				limits = hasty
			}
			p := r.process(w, processOptions{client: limits})
			remove := r.rule(tc.rule)
			web := w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080), nsxtest.UDP(53, 30053)))
			_, err := p.EnsureLoadBalancer(t.Context(), cluster, web, nsxtest.Nodes(1))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if again := new(api.RetryError); errors.As(err, &again) != tc.soon {
				t.Errorf("tried again soon: %v, want %v (%v)", !tc.soon, tc.soon, err)
			}
			remove()
			p = r.process(w, processOptions{client: patient})
			r.ensure(p, web, 1)
			if got := r.own(others); got != twoPorts {
				t.Errorf("after the fault NSX has %s, want %s", got, twoPorts)
			}
			if err := p.EnsureLoadBalancerDeleted(t.Context(), cluster, web); err != nil {
				t.Fatal(err)
			}
			if got := r.own(others); got != "" {
				t.Errorf("at the end NSX has %s", got)
			}
			unchanged()
		})
	}
}

// TestFaultsOfDelete: a delete that fails is finished by the next attempt.
func TestFaultsOfDelete(t *testing.T) {
	for name, rule := range map[string]gate.Rule{
		"down at the pools": {Match: gate.Match{Methods: []string{"DELETE /policy/api/v1/infra/lb-pools/{id}"}}, Action: gate.Outage{}},
		"in use":            {Match: gate.Match{Methods: []string{"DELETE /policy/api/v1/infra/lb-monitor-profiles/{id}"}}, Action: gate.HTTPStatus{Code: 400}},
		"answers are lost":  {Match: gate.Match{Methods: []string{"DELETE /policy/*"}}, Action: gate.Outage{}, Skip: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, rigOptions{})
			w := newWorld("ours")
			web := w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080), nsxtest.TCP(443, 30443)))
			r.ensure(r.process(w, processOptions{client: patient}), web, 1)
			p := r.process(w, processOptions{client: hasty})
			remove := r.rule(rule)
			if err := p.EnsureLoadBalancerDeleted(t.Context(), cluster, web); err == nil {
				t.Error("the delete succeeds")
			}
			if _, exists, err := p.GetLoadBalancer(t.Context(), cluster, web); err == nil && !exists {
				t.Error("what is left does not exist")
			}
			remove()
			if err := r.process(w, processOptions{client: patient}).EnsureLoadBalancerDeleted(t.Context(), cluster, web); err != nil {
				t.Error(err)
			}
			if got := r.counts(""); got != "" {
				t.Errorf("NSX still has %s", got)
			}
		})
	}
}

// TestRotated: the password changes at NSX, and later in the Secret.
func TestRotated(t *testing.T) {
	r := start(t, rigOptions{})
	w := newWorld("ours")
	var mu sync.Mutex
	password := "right"
	p := r.process(w, processOptions{client: func(c *nsx.Config) {
		c.Credentials = func(context.Context) (nsx.Credentials, error) {
			mu.Lock()
			defer mu.Unlock()
			return nsx.Credentials{User: "ccm", Password: password}, nil
		}
	}})
	r.ensure(p, w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080))), 1)
	if err := r.SetPassword("ccm", "new"); err != nil {
		t.Fatal(err)
	}
	before := p.calls()
	late := w.add(nsxtest.Service("late", nsxtest.TCP(81, 30081)))
	for range 10 {
		_, err := p.EnsureLoadBalancer(t.Context(), cluster, late, nsxtest.Nodes(1))
		if err == nil || !strings.Contains(err.Error(), "login refused") || !strings.Contains(err.Error(), "correct user and password of nsxt, or unlock the account") || strings.Contains(err.Error(), "right") {
			t.Fatal(err)
		}
	}
	// A handful of calls had the ended session when it ended.
	if made := p.calls() - before; made > 12 {
		t.Errorf("refused credentials make %d calls: NSX locks the account", made)
	}
	mu.Lock()
	password = "new"
	mu.Unlock()
	r.ensure(p, late, 1)
	if got, want := r.counts("default/late"), "IpAddressAllocation:1 LBPool:1 LBTcpMonitorProfile:1 LBVirtualServer:1"; got != want {
		t.Errorf("NSX has %s, want %s", got, want)
	}
}

// TestBadInput: what a Service or a configuration asks for and NSX does not have. Nothing is left in NSX, and the words say what to do.
func TestBadInput(t *testing.T) {
	edit := func(change func(*config.LoadBalancer, *config.LoadBalancerClass)) config.LoadBalancer {
		s := settings()
		c := s.Classes["default"]
		change(&s, &c)
		s.Classes["default"] = c
		return s
	}
	sctp := corev1.ServicePort{Protocol: corev1.ProtocolSCTP, Port: 80, NodePort: 30080}
	for name, tc := range map[string]struct {
		rig      rigOptions
		settings config.LoadBalancer
		service  *corev1.Service
		client   func(*nsx.Config)
		want     []string
		left     string
	}{
		"no such class": {
			service: func() *corev1.Service {
				s := nsxtest.Service("web", nsxtest.TCP(80, 30080))
				s.Annotations = map[string]string{loadbalancer.ClassAnnotation: "publik"}
				return s
			}(),
			want: []string{`"publik", and the configuration has no such class: it has default, public; correct the annotation`},
		},
		"SCTP":         {service: nsxtest.Service("web", sctp), want: []string{"port 80 has the protocol SCTP: load balancers of NSX have TCP and UDP; remove the port"}},
		"no node port": {service: nsxtest.Service("web", nsxtest.TCP(80, 0)), want: []string{"port 80 has no node port", "allocateLoadBalancerNodePorts"}},
		"pool's name": {
			settings: edit(func(_ *config.LoadBalancer, c *config.LoadBalancerClass) { c.IPPoolName = "none" }),
			want:     []string{`class default: IP pool name "none": does not exist in NSX: make it there, or correct the configuration`},
		},
		"pool's identifier": {
			settings: edit(func(_ *config.LoadBalancer, c *config.LoadBalancerClass) { c.IPPoolName, c.IPPoolID = "", "none" }),
			want:     []string{`class default: IP pool identifier "none": does not exist in NSX`}, left: "some",
		},
		"profile's name": {
			settings: edit(func(_ *config.LoadBalancer, c *config.LoadBalancerClass) { c.TCPAppProfileName = "none" }),
			want:     []string{`class default: application profile for TCP name "none": does not exist in NSX`},
		},
		"profile of another protocol": {
			settings: edit(func(_ *config.LoadBalancer, c *config.LoadBalancerClass) {
				c.TCPAppProfileName = "default-udp-lb-app-profile"
			}),
			want: []string{`application profile for TCP name "default-udp-lb-app-profile": does not exist`},
		},
		"gateway": {
			settings: edit(func(s *config.LoadBalancer, _ *config.LoadBalancerClass) { s.Tier1GatewayPath = "/infra/tier-1s/none" }),
			want:     []string{"NSX has no gateway /infra/tier-1s/none: correct tier1GatewayPath"}, left: "some",
		},
		"load balancer service": {
			settings: edit(func(s *config.LoadBalancer, _ *config.LoadBalancerClass) { s.LBServiceID = "none" }),
			want:     []string{"NSX has no load balancer service none: correct lbServiceId"}, left: "some",
		},
		"exhausted": {
			rig:  rigOptions{last: "10.20.0.9"},
			want: []string{"class default: IP pool services gives no address", "has no free address", "add a range to the pool"}, left: "some",
		},
		"role": {
			client: func(c *nsx.Config) {
				c.Credentials = func(context.Context) (nsx.Credentials, error) {
					return nsx.Credentials{User: "auditor", Password: "right"}, nil
				}
			},
			want: []string{"User auditor is not authorized", "give the user of nsxt a role that may change load balancers and IP pools"},
		},
		"no Secret": {
			client: func(c *nsx.Config) {
				c.Credentials = func(context.Context) (nsx.Credentials, error) {
					return nsx.Credentials{}, errors.New("secret kube-system/nsx: does not exist")
				}
			},
			want: []string{"no credentials: secret kube-system/nsx: does not exist: put username and password into the Secret"},
		},
		"certificate": {
			client: func(c *nsx.Config) { c.CAFile = "" },
			want:   []string{"certificate is not trusted", "set caFile of nsxt"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := tc.rig
			if o.last == "10.20.0.9" {
				o.last = "10.20.0.10"
			}
			r := start(t, o)
			if tc.rig.last != "" { // another user has the only address
				r.Put("/infra/ip-pools/services/ip-allocations/taken", tree.Object{})
			}
			w := newWorld("ours")
			s := tc.service
			if s == nil {
				s = nsxtest.Service("web", nsxtest.TCP(80, 30080))
			}
			w.add(s)
			p := r.process(w, processOptions{settings: tc.settings, client: tc.client})
			_, err := p.EnsureLoadBalancer(t.Context(), cluster, s, nsxtest.Nodes(1))
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %q", err, want)
				}
			}
			if got := r.counts(""); tc.left == "" && got != "" {
				t.Errorf("NSX has %s", got)
			}
			// The Service can be deleted with any configuration.
			if tc.client == nil {
				if err := p.EnsureLoadBalancerDeleted(t.Context(), cluster, s); err != nil {
					t.Error(err)
				}
				if got := r.counts(""); got != "" {
					t.Errorf("after its deletion NSX has %s", got)
				}
			}
		})
	}
}

// TestNotRealized: NSX takes the objects of a gateway without an edge cluster, and the Service says that its address does not answer.
func TestNotRealized(t *testing.T) {
	r := start(t, rigOptions{noEdge: true})
	w := newWorld("ours")
	p := r.process(w, processOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx, cluster)
	}()
	r.ensure(p, w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080))), 1)
	deadline := time.Now().Add(10 * time.Second)
	for len(w.said()) == 0 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if said := w.said(); len(said) != 1 || !strings.Contains(said[0], "LoadBalancerNotRealized: the address will not answer") || !strings.Contains(said[0], "has no edge cluster") {
		t.Errorf("the Events are %q", said)
	}
	cancel()
	<-ended
}

// TestAdopted: objects that upstream's provider has made for a Service are those of its address; others are left alone.
func TestAdopted(t *testing.T) {
	r := start(t, rigOptions{})
	w := newWorld("ours")
	p := r.process(w, processOptions{})
	web := w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080)))
	address := r.ensure(p, web, 1)
	// As upstream's: the same objects with random identifiers.
	moved := map[string]string{}
	var paths []string
	for path := range r.objects() {
		paths = append(paths, path)
	}
	rank := func(path string) int {
		return slices.IndexFunc([]string{"/ip-allocations/", "/lb-services/", "/lb-monitor-profiles/", "/lb-pools/", "/lb-virtual-servers/"}, func(s string) bool {
			return strings.Contains(path, s)
		})
	}
	slices.SortFunc(paths, func(a, b string) int { return rank(a) - rank(b) })
	all := r.objects()
	for i, path := range paths {
		moved[path] = path[:strings.LastIndex(path, "/")+1] + fmt.Sprintf("2c3e1a55-0d2c-4a39-9d0e-3a3f0f0b7a%02d", i)
	}
	slices.Reverse(paths)
	for _, path := range paths {
		if err := r.Tree().Delete(path, "admin", false); err != nil {
			t.Fatal(err)
		}
	}
	slices.Reverse(paths)
	for _, path := range paths {
		o := all[path]
		for field, v := range o {
			if at, ok := v.(string); ok && moved[at] != "" {
				o[field] = moved[at]
			}
			if list, ok := v.([]any); ok && len(list) == 1 {
				if at, ok := list[0].(string); ok && moved[at] != "" {
					o[field] = []any{moved[at]}
				}
			}
		}
		for _, field := range []string{"id", "path", "relative_path", "_revision"} {
			delete(o, field)
		}
		r.Put(moved[path], o)
	}
	upstream := r.objects()

	// Without the address in its status, they may be anybody's.
	stranger := r.process(newWorld("stranger"), processOptions{})
	if _, exists, err := stranger.GetLoadBalancer(t.Context(), cluster, web); exists || err != nil {
		t.Errorf("without a status: %v, %v", exists, err)
	}
	web.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	p = r.process(w, processOptions{})
	if got := r.ensure(p, web, 1); got != address {
		t.Errorf("the address was %s and is %s", address, got)
	}
	if diff := cmp.Diff(upstream, r.objects()); diff != "" {
		t.Errorf("adopting changes the objects:\n%s", diff)
	}
	if err := p.EnsureLoadBalancerDeleted(t.Context(), cluster, web); err != nil {
		t.Fatal(err)
	}
	if got := r.counts(""); got != "LBService:1" { // upstream's, which is not certainly ours
		t.Errorf("at the end NSX has %s", got)
	}
}
