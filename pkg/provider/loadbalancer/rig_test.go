package loadbalancer_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/loadbalancer"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	simnsx "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/nsxtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

const (
	cluster = "kubernetes"
	gateway = "/infra/tier-1s/workload"
)

// rig is an NSX Manager with a gateway, an edge cluster, and the IP pools "services" and "public".
type rig struct{ *nsxtest.Manager }

type rigOptions struct {
	realize time.Duration
	noEdge  bool
	last    string // the last address of the pool "services"; 10.20.0.250 when empty
}

func start(t testing.TB, o rigOptions) *rig {
	t.Helper()
	m := nsxtest.Start(t, simnsx.Options{Realize: o.realize, Accounts: []simnsx.Account{
		{User: "admin", Password: "right", Role: simnsx.EnterpriseAdmin},
		{User: "ccm", Password: "right", Role: simnsx.EnterpriseAdmin},
		{User: "auditor", Password: "right", Role: simnsx.Auditor},
	}})
	if o.noEdge {
		m.Put(gateway, tree.Object{})
	} else {
		m.Gateway(gateway)
	}
	m.Pool("services", "Pool services", "10.20.0.10", cmp.Or(o.last, "10.20.0.250"))
	m.Pool("public", "Pool public", "203.0.113.10", "203.0.113.20")
	return &rig{m}
}

func (r *rig) rule(rule gate.Rule) (remove func()) {
	r.Helper()
	id, err := r.Gate().Add(rule)
	if err != nil {
		r.Fatal(err)
	}
	return func() {
		if err := r.Gate().Remove(context.Background(), id); err != nil {
			r.Fatal(err)
		}
	}
}

// objects returns the objects that have tags, by path.
func (r *rig) objects() map[string]tree.Object {
	all := map[string]tree.Object{}
	for _, o := range r.Tree().All() {
		if o["tags"] != nil {
			all[o["path"].(string)] = o
		}
	}
	return all
}

// counts returns how many objects of each type have a tag, as "LBPool:1 LBService:1".
func (r *rig) counts(tag string) string {
	counts := map[string]int{}
	for _, o := range r.objects() {
		if tag == "" || strings.Contains(fmt.Sprint(o["tags"]), " tag:"+tag+"]") {
			counts[o["resource_type"].(string)]++
		}
	}
	return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(counts), "map["), "]")
}

// world is a cluster: its Services, and the Events on them.
type world struct {
	uid string

	mu       sync.Mutex
	services map[string]*corev1.Service
	events   []string
}

func newWorld(uid string) *world {
	return &world{uid: uid, services: map[string]*corev1.Service{"default/kubernetes": {ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}}}}
}

func (w *world) add(s *corev1.Service) *corev1.Service {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.services[s.Namespace+"/"+s.Name] = s
	return s
}

func (w *world) remove(s *corev1.Service) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.services, s.Namespace+"/"+s.Name)
}

func (w *world) said() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

// settings are a configuration with the classes default and public.
func settings() config.LoadBalancer {
	standard := config.LoadBalancerClass{IPPoolName: "Pool services", TCPAppProfileName: "default-tcp-lb-app-profile", UDPAppProfileName: "default-udp-lb-app-profile"}
	public := standard
	public.IPPoolName, public.IPPoolID = "", "public"
	return config.LoadBalancer{
		Size: "SMALL", Tier1GatewayPath: gateway, Classes: map[string]config.LoadBalancerClass{"default": standard, "public": public},
	}
}

// process is one process of the provider.
type process struct {
	*loadbalancer.Balancer
	client *nsx.Client
	calls  func() int
}

type processOptions struct {
	settings config.LoadBalancer
	client   func(*nsx.Config)
	onCall   func()
}

// process starts a process of a cluster.
func (r *rig) process(w *world, o processOptions) *process {
	r.Helper()
	var mu sync.Mutex
	n := 0
	cfg := nsx.Config{
		Host: r.Addr(), CAFile: r.CAFile, UserAgent: "test", CallTimeout: 2 * time.Second, Patience: 3 * time.Second,
		Credentials: func(context.Context) (nsx.Credentials, error) {
			return nsx.Credentials{User: "ccm", Password: "right"}, nil
		},
		OnCall: func(nsx.Call) {
			mu.Lock()
			n++
			mu.Unlock()
			if o.onCall != nil {
				o.onCall()
			}
		},
	}
	if o.client != nil {
		o.client(&cfg)
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
	if o.settings.Classes == nil {
		o.settings = settings()
	}
	b := loadbalancer.New(loadbalancer.Config{
		Client: c, Settings: o.settings,
		ClusterUID: func(context.Context) (string, error) { return w.uid, nil },
		Services: func(context.Context) ([]corev1.Service, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			var all []corev1.Service
			for _, s := range w.services {
				all = append(all, *s)
			}
			return all, nil
		},
		Service: func(_ context.Context, namespace, name string) (*corev1.Service, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if s := w.services[namespace+"/"+name]; s != nil {
				return s, nil
			}
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, name)
		},
		Event: func(s *corev1.Service, kind, reason, message string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, fmt.Sprintf("%s %s %s: %s", s.Name, kind, reason, message))
		},
	})
	return &process{b, c, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}}
}

// ensure returns the address of a Service.
func (r *rig) ensure(p *process, s *corev1.Service, n int) string {
	r.Helper()
	status, err := p.EnsureLoadBalancer(r.Context(), cluster, s, nsxtest.Nodes(n))
	if err != nil {
		r.Fatal(err)
	}
	return status.Ingress[0].IP
}
