package nsx

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	lbconfig "k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/loadbalancer/config"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/loadbalancer"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/nsxtest"
)

// step is what happens to a Service.
type step struct {
	name string
	do   func(*corev1.Service)
	// nodes is their number, 2 when zero.
	nodes int
	// update: only the nodes have changed.
	update bool
}

// life is a Service with what happens to it, from its creation to its deletion.
type life struct {
	name    string
	service *corev1.Service
	steps   []step
}

func ports(all ...corev1.ServicePort) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Ports = all }
}

func made(ports ...corev1.ServicePort) []step {
	return []step{{name: "made", do: func(s *corev1.Service) { s.Spec.Ports = ports }}}
}

func of(class string, steps []step) []step {
	first := steps[0].do
	steps[0].do = func(s *corev1.Service) {
		s.Annotations = map[string]string{loadbalancer.ClassAnnotation: class}
		first(s)
	}
	return steps
}

// lives are 15 Services.
func lives() []life {
	all := []life{
		{name: "tcp", steps: made(nsxtest.TCP(80, 30080))},
		{name: "udp", steps: made(nsxtest.UDP(53, 30053))},
		{name: "two-ports", steps: made(nsxtest.TCP(80, 30081), nsxtest.TCP(443, 30443))},
		{name: "both-protocols", steps: made(nsxtest.TCP(53, 30153), nsxtest.UDP(53, 30153))},
		{name: "ten-ports", steps: made(nsxtest.TCP(1, 31001), nsxtest.TCP(2, 31002), nsxtest.TCP(3, 31003), nsxtest.UDP(4, 31004), nsxtest.UDP(5, 31005), nsxtest.TCP(6, 31006), nsxtest.TCP(7, 31007), nsxtest.TCP(8, 31008), nsxtest.UDP(9, 31009), nsxtest.TCP(10, 31010))},
		{name: "class", steps: of("public", made(nsxtest.TCP(80, 30082)))},
		{name: "class-udp", steps: of("public", made(nsxtest.UDP(80, 30083)))},
		{name: "class-spaces", steps: of(" default ", made(nsxtest.TCP(80, 30084)))},
		{name: "no-nodes", steps: []step{{name: "made", do: ports(nsxtest.TCP(80, 30085)), nodes: -1}}},
		{name: "nodes-come", steps: append(made(nsxtest.TCP(80, 30086)), step{name: "nodes", nodes: 4, update: true})},
		{name: "nodes-go", steps: append(made(nsxtest.TCP(80, 30087), nsxtest.UDP(81, 30181)), step{name: "nodes", nodes: 1, update: true})},
		{name: "node-port", steps: append(made(nsxtest.TCP(80, 30088)), step{name: "another node port", do: ports(nsxtest.TCP(80, 31088))})},
		{name: "port-more", steps: append(made(nsxtest.TCP(80, 30089)), step{name: "a port more", do: ports(nsxtest.TCP(80, 30089), nsxtest.UDP(90, 30190))})},
		{name: "port-less", steps: append(made(nsxtest.TCP(80, 30090), nsxtest.TCP(90, 30290)), step{name: "a port less", do: ports(nsxtest.TCP(90, 30290))})},
		{name: "protocol", steps: append(made(nsxtest.TCP(80, 30091)), step{name: "another protocol", do: ports(nsxtest.UDP(80, 30091))})},
	}
	for i := range all {
		all[i].service = nsxtest.Service(all[i].name)
		all[i].service.UID = types.UID("uid-of-" + all[i].name)
	}
	return all
}

// side is one provider with a separate NSX Manager.
type side struct {
	name string
	rig  *rig
	lb   cloudprovider.LoadBalancer
	// calls is how many calls the manager got.
	calls func() int
	// again starts another process of the provider.
	again func() cloudprovider.LoadBalancer
}

// sides returns upstream's provider and this project's, each with the classes default and public.
func sides(t *testing.T, edit func(*lbconfig.LBConfig, *config.LoadBalancer)) []side {
	standard := config.LoadBalancerClass{IPPoolName: "Services", TCPAppProfileName: "default-tcp-lb-app-profile", UDPAppProfileName: "default-udp-lb-app-profile"}
	public := standard
	public.IPPoolName, public.IPPoolID = "", "public"
	ours := config.LoadBalancer{Size: "SMALL", Tier1GatewayPath: gateway, Classes: map[string]config.LoadBalancerClass{"default": standard, "public": public}}
	theirs := func(c *lbconfig.LBConfig) {
		c.LoadBalancerClass = map[string]*lbconfig.LoadBalancerClassConfig{"public": {IPPoolID: "public"}}
		if edit != nil {
			edit(c, &ours)
		}
	}
	begin := func(name string, with func(*rig) cloudprovider.LoadBalancer) side {
		r := start(t, 0)
		r.Pool(pool, "Services", "10.20.0.20", "10.20.0.250") // more than the few of the rig
		r.Pool("public", "public", "203.0.113.5", "203.0.113.50")
		s := side{name: name, rig: r, lb: with(r), again: func() cloudprovider.LoadBalancer { return with(r) }}
		s.calls = func() (n int) {
			for _, stat := range r.Gate().Stats() {
				n += int(stat.Calls)
			}
			return n
		}
		return s
	}
	return []side{
		begin("upstream", func(r *rig) cloudprovider.LoadBalancer { return r.balancer(theirs) }),
		begin("ours", func(r *rig) cloudprovider.LoadBalancer {
			return loadbalancer.New(loadbalancer.Config{
				Client: r.client(), Settings: ours, ClusterUID: func(context.Context) (string, error) { return "uid", nil },
			})
		}),
	}
}

// client returns this project's client of the manager.
func (r *rig) client() *nsx.Client {
	r.Helper()
	client, err := nsx.New(nsx.Config{
		Host: r.Addr(), CAFile: r.CAFile, UserAgent: "test",
		Credentials: func(context.Context) (nsx.Credentials, error) {
			return nsx.Credentials{User: "admin", Password: "right"}, nil
		},
	})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { client.Close(context.Background()) })
	return client
}

// comparable are the objects as text, each without what NSX sets and with the names of objects in place of their identifiers.
func comparable(r *rig) map[string]string {
	known := map[string]string{}
	all := r.paths()
	for path, o := range all {
		port, service := "", ""
		tags, _ := o["tags"].([]any)
		for _, v := range tags {
			switch tag := v.(object); tag["scope"] {
			case "port":
				port = " " + fmt.Sprint(tag["tag"])
			case "service":
				service = " " + fmt.Sprint(tag["tag"])
			}
		}
		known[path] = fmt.Sprint(o["resource_type"], service, port)
	}
	named := func(v any) any { return v }
	named = func(v any) any {
		switch v := v.(type) {
		case string:
			if known[v] != "" {
				return known[v]
			}
		case []any:
			list := make([]any, len(v))
			for i := range v {
				list[i] = named(v[i])
			}
			return list
		}
		return v
	}
	texts := map[string]string{}
	for path, o := range all {
		kept := object{}
		for field, v := range o {
			if strings.HasPrefix(field, "_") || slices.Contains([]string{"id", "path", "relative_path", "unique_id", "realization_id"}, field) {
				continue
			}
			if v == o["id"] { // an object without a name has its identifier
				continue
			}
			if members, ok := v.([]any); ok && field == "members" { // upstream's are in the order of a Go map
				members = slices.Clone(members)
				slices.SortFunc(members, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
				v = members
			}
			kept[field] = named(v)
		}
		text, err := json.MarshalIndent(kept, "", " ")
		if err != nil {
			r.Fatal(err)
		}
		texts[known[path]] += string(text) + "\n"
	}
	return texts
}

// TestParity: over the lives of 15 Services, the objects of both providers are the same after every step, field by field, and the
// Services have the same addresses.
func TestParity(t *testing.T) {
	for name, edit := range map[string]func(*lbconfig.LBConfig, *config.LoadBalancer){
		"plain": nil,
		"all settings": func(theirs *lbconfig.LBConfig, ours *config.LoadBalancer) {
			theirs.LoadBalancer.Size, theirs.LoadBalancer.SnatDisabled = "MEDIUM", true
			theirs.LoadBalancer.AdditionalTags = map[string]string{"env": "prod", "owner": "me"}
			ours.Size, ours.SNATDisabled, ours.Tags = "MEDIUM", true, map[string]string{"env": "prod", "owner": "me"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			both := sides(t, edit)
			same := func(what string) {
				t.Helper()
				if diff := cmp.Diff(comparable(both[0].rig), comparable(both[1].rig)); diff != "" {
					t.Fatalf("%s (-upstream +ours):\n%s", what, diff)
				}
			}
			all := lives()
			for _, l := range all {
				for _, step := range l.steps {
					if step.do != nil {
						step.do(l.service)
					}
					n := 2
					if step.nodes != 0 {
						n = max(step.nodes, 0)
					}
					var addresses []string
					for _, side := range both {
						if step.update {
							if err := side.lb.UpdateLoadBalancer(t.Context(), cluster, l.service, nsxtest.Nodes(n)); err != nil {
								t.Fatal(side.name, err)
							}
							continue
						}
						status, err := side.lb.EnsureLoadBalancer(t.Context(), cluster, l.service, nsxtest.Nodes(n))
						if err != nil {
							t.Fatalf("%s %s, %s: %v", side.name, l.name, step.name, err)
						}
						addresses = append(addresses, fmt.Sprint(status.Ingress))
						if got := side.lb.GetLoadBalancerName(t.Context(), cluster, l.service); got != "cluster:kubernetes:default/"+l.name {
							t.Errorf("%s calls it %s", side.name, got)
						}
					}
					if len(addresses) == 2 && addresses[0] != addresses[1] {
						t.Errorf("%s, %s: upstream has %s, ours %s", l.name, step.name, addresses[0], addresses[1])
					}
					same(l.name + ", " + step.name)
				}
			}
			for _, l := range all {
				for _, side := range both {
					if err := side.lb.EnsureLoadBalancerDeleted(t.Context(), cluster, l.service); err != nil {
						t.Fatal(side.name, err)
					}
				}
				same("after the deletion of " + l.name)
			}
			for _, side := range both {
				if left := slices.Sorted(maps.Keys(side.rig.paths())); len(left) > 0 {
					t.Errorf("%s leaves %q", side.name, left)
				}
			}
		})
	}
}

var figures = flag.Bool("figures", false, "measure calls and times beside upstream (make parity MODE=nsx)")

// TestFigures measures calls and times of both providers, in one run, at a latency of NSX. The columns are ours, and how many times
// as much upstream's is.
func TestFigures(t *testing.T) {
	if !*figures {
		t.Skip("make parity MODE=nsx measures")
	}
	const latency = 20 * time.Millisecond
	var lines strings.Builder
	fmt.Fprintf(&lines, "| at %s a call | calls | × upstream | time | × upstream |\n|---|---|---|---|---|\n", latency)
	type figure struct {
		calls int
		took  time.Duration
	}
	row := func(what string, n int, run func(side, []*corev1.Service) error, prepare func(side, []*corev1.Service) error) {
		var got []figure
		for _, side := range sides(t, nil) {
			var all []*corev1.Service
			for i := range n {
				s := nsxtest.Service(fmt.Sprintf("s%03d", i), nsxtest.TCP(80, int32(30000+i)))
				s.UID = types.UID(s.Name)
				all = append(all, s)
			}
			if prepare != nil {
				if err := prepare(side, all); err != nil {
					t.Fatal(side.name, err)
				}
			}
			if _, err := side.rig.Gate().Add(gate.Rule{Action: gate.Latency{Delay: latency}}); err != nil {
				t.Fatal(err)
			}
			calls, began := side.calls(), time.Now()
			if err := run(side, all); err != nil {
				t.Fatal(side.name, err)
			}
			got = append(got, figure{side.calls() - calls, time.Since(began)})
		}
		fmt.Fprintf(&lines, "| %s | %d | %.1f | %s | %.1f |\n", what, got[1].calls, float64(got[0].calls)/float64(got[1].calls),
			got[1].took.Round(10*time.Millisecond), float64(got[0].took)/float64(got[1].took))
	}
	ensure := func(workers func(side) int) func(side, []*corev1.Service) error {
		return func(s side, all []*corev1.Service) error {
			return each(workers(s), all, func(service *corev1.Service) error {
				_, err := s.lb.EnsureLoadBalancer(t.Context(), cluster, service, nsxtest.Nodes(3))
				return err
			})
		}
	}
	// The workers that each program has if no flag says otherwise.
	usual := func(s side) int { return map[string]int{"upstream": 1, "ours": 8}[s.name] }
	alone := func(side) int { return 1 }
	remove := func(s side, all []*corev1.Service) error {
		return each(usual(s), all, func(service *corev1.Service) error {
			return s.lb.EnsureLoadBalancerDeleted(t.Context(), cluster, service)
		})
	}
	update := func(s side, all []*corev1.Service) error {
		return each(1, all, func(service *corev1.Service) error {
			return s.lb.UpdateLoadBalancer(t.Context(), cluster, service, nsxtest.Nodes(4))
		})
	}
	row("1 Service", 1, ensure(alone), nil)
	row("50 Services", 50, ensure(usual), nil)
	row("50 Services, one worker each", 50, ensure(alone), nil)
	row("50 Services unchanged, after a restart", 50, func(s side, all []*corev1.Service) error {
		s.lb = s.again()
		return ensure(usual)(s, all)
	}, ensure(usual))
	row("a node more, 50 Services", 50, update, ensure(usual))
	row("50 Services deleted", 50, remove, ensure(usual))
	t.Logf("\n%s", lines.String())
}

// each calls a function for each Service, by some workers.
func each(workers int, all []*corev1.Service, do func(*corev1.Service) error) error {
	var next atomic.Int64
	errs := make(chan error, workers)
	for range workers {
		go func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(all) {
					errs <- nil
					return
				}
				if err := do(all[i]); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	var first error
	for range workers {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}
