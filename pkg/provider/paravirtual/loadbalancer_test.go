package paravirtual

import (
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/vmoperator"
)

type vmachine = vmoperator.VirtualMachine

// changes counts the calls of a Resyncer.
type changes struct {
	mu  sync.Mutex
	all map[string]int
}

func (c *changes) Changed(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]int{}
	}
	c.all[id]++
}

func (c *changes) of(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[id]
}

// assign gives VirtualMachineServices an address.
func assign(ip string) func(string, object) {
	return func(resource string, o object) {
		if resource == "virtualmachineservices" {
			field([]any{object{"ip": ip}}, "status", "loadBalancer", "ingress")(o)
		}
	}
}

func newService(name string, edits ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: "service-uid"},
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}},
		},
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

// upstreamName is what upstream's v1.36.0 calls the VirtualMachineService of default/web.
const upstreamName = "guest-c4895e85cca689a64a43d"

func TestLoadBalancerLife(t *testing.T) {
	s := newSupervisor(t)
	s.add(machine(0), machine(1))
	s.react = assign("10.9.0.1")
	r := start(t, s, nil, true, newNode(0), newNode(1))
	lb := loadBalancers{r.Provider}
	service := newService("web", func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} })
	name := lb.GetLoadBalancerName(t.Context(), cluster, service)
	if name != upstreamName {
		t.Errorf("name %s, want upstream's %s", name, upstreamName)
	}
	if _, exists, err := lb.GetLoadBalancer(t.Context(), cluster, service); exists || err != nil {
		t.Fatalf("before: %v, %v", exists, err)
	}
	got, err := lb.EnsureLoadBalancer(t.Context(), cluster, service, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "10.9.0.1"}}}, got); diff != "" {
		t.Error(diff)
	}
	created := s.get("virtualmachineservices", name)
	want := object{
		"type":                     "LoadBalancer",
		"ports":                    []any{object{"name": "http", "protocol": "TCP", "port": float64(80), "targetPort": float64(30080)}},
		"selector":                 object{"capv.vmware.com/cluster.name": "guest", "capv.vmware.com/cluster.role": "node"},
		"loadBalancerSourceRanges": []any{"10.0.0.0/8"},
	}
	if diff := cmp.Diff(want, created.Object["spec"]); diff != "" {
		t.Error(diff)
	}
	wantLabels := map[string]string{
		"run.tanzu.vmware.com/cluster.name": "guest", "run.tanzu.vmware.com/service.name": "web", "run.tanzu.vmware.com/service.namespace": "default",
	}
	if diff := cmp.Diff(wantLabels, created.GetLabels()); diff != "" {
		t.Error(diff)
	}
	if o := created.GetOwnerReferences(); len(o) != 1 || o[0].UID != ownerUID || o[0].Kind != "Cluster" {
		t.Errorf("owners %+v", o)
	}
	if created.GetAPIVersion() != "vmoperator.vmware.com/v1alpha2" || created.GetKind() != "VirtualMachineService" {
		t.Errorf("%s %s", created.GetAPIVersion(), created.GetKind())
	}

	// Nothing is written without a change.
	if err := lb.UpdateLoadBalancer(t.Context(), cluster, service, nil); err != nil {
		t.Fatal(err)
	}
	if n := s.count("update virtualmachineservices"); n != 0 {
		t.Errorf("%d updates of nothing", n)
	}

	// Others' fields and annotations stay; ours follow the Service.
	s.edit(t, "virtualmachineservices", name, field("10.20.0.1", "spec", "clusterIp"), field("nsx", "metadata", "annotations", "example.com/theirs"))
	service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53, NodePort: 30053})
	service.Spec.LoadBalancerSourceRanges = nil
	service.Spec.LoadBalancerIP = "10.9.0.9"
	service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	service.Spec.HealthCheckNodePort = 31999
	if _, err := lb.EnsureLoadBalancer(t.Context(), cluster, service, nil); err != nil {
		t.Fatal(err)
	}
	want["ports"] = append(want["ports"].([]any), object{"name": "dns", "protocol": "UDP", "port": float64(53), "targetPort": float64(30053)})
	want["loadBalancerIP"], want["clusterIp"] = "10.9.0.9", "10.20.0.1"
	delete(want, "loadBalancerSourceRanges")
	updated := s.get("virtualmachineservices", name)
	if diff := cmp.Diff(want, updated.Object["spec"]); diff != "" {
		t.Error(diff)
	}
	wantAnnotations := map[string]string{
		"example.com/theirs": "nsx",
		"virtualmachineservice.vmoperator.vmware.com/service.externalTrafficPolicy": "Local",
		"virtualmachineservice.vmoperator.vmware.com/service.healthCheckNodePort":   "31999",
	}
	if diff := cmp.Diff(wantAnnotations, updated.GetAnnotations()); diff != "" {
		t.Error(diff)
	}
	service.Spec.ExternalTrafficPolicy, service.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyCluster, 0
	if _, err := lb.EnsureLoadBalancer(t.Context(), cluster, service, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"example.com/theirs": "nsx"}, s.get("virtualmachineservices", name).GetAnnotations()); diff != "" {
		t.Error(diff)
	}

	s.edit(t, "virtualmachineservices", name, field(nil, "metadata", "annotations", "example.com/theirs"))
	for _, policy := range []corev1.ServiceExternalTrafficPolicy{corev1.ServiceExternalTrafficPolicyLocal, corev1.ServiceExternalTrafficPolicyCluster} {
		want := map[corev1.ServiceExternalTrafficPolicy]int{corev1.ServiceExternalTrafficPolicyLocal: 2}[policy]
		service.Spec.ExternalTrafficPolicy = policy
		if _, err := lb.EnsureLoadBalancer(t.Context(), cluster, service, nil); err != nil {
			t.Fatal(err)
		}
		if got := s.get("virtualmachineservices", name).GetAnnotations(); len(got) != want {
			t.Errorf("%s: %v", policy, got)
		}
	}

	// Deleted behind the cluster's back, it comes back.
	s.set(func() { s.drop("virtualmachineservices", namespace, name) })
	if err := lb.UpdateLoadBalancer(t.Context(), cluster, service, nil); err != nil || s.get("virtualmachineservices", name) == nil {
		t.Errorf("not created again: %v", err)
	}
	if err := lb.EnsureLoadBalancerDeleted(t.Context(), cluster, service); err != nil || s.get("virtualmachineservices", name) != nil {
		t.Errorf("not deleted: %v", err)
	}
	if err := lb.EnsureLoadBalancerDeleted(t.Context(), cluster, service); err != nil {
		t.Errorf("deleted twice: %v", err)
	}
}

// A load balancer is gone when VM Operator has removed its finalizer.
func TestLoadBalancerDeletionWaits(t *testing.T) {
	s := newSupervisor(t)
	s.add(machine(0))
	s.react = assign("10.9.0.1")
	r := start(t, s, nil, true, newNode(0))
	lb, service := loadBalancers{r.Provider}, newService("web")
	if _, err := lb.EnsureLoadBalancer(t.Context(), cluster, service, nil); err != nil {
		t.Fatal(err)
	}
	s.edit(t, "virtualmachineservices", upstreamName, field([]any{"vmoperator.vmware.com/virtualmachineservice"}, "metadata", "finalizers"))
	done := make(chan error, 1)
	go func() { done <- lb.EnsureLoadBalancerDeleted(t.Context(), cluster, service) }()
	eventually(t, "being deleted", func() error {
		if o := s.get("virtualmachineservices", upstreamName); o.GetDeletionTimestamp() == nil {
			return errWaiting
		}
		return nil
	})
	var retry *api.RetryError
	if _, err := lb.EnsureLoadBalancer(t.Context(), cluster, service, nil); !errors.As(err, &retry) {
		t.Errorf("ensured while it is being deleted: %v", err)
	}
	select {
	case err := <-done:
		t.Fatalf("deleted with a finalizer: %v", err)
	default:
	}
	s.set(func() { s.drop("virtualmachineservices", namespace, upstreamName) })
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestLoadBalancerRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		do     func(*testing.T, *fakeSupervisor, *corev1.Service)
		want   string
		delete string // in the error of a deletion; "" if that succeeds
	}{
		{"no node port", func(_ *testing.T, _ *fakeSupervisor, s *corev1.Service) { s.Spec.Ports[0].NodePort = 0 }, "has no node port", ""},
		{"no address", func(_ *testing.T, f *fakeSupervisor, _ *corev1.Service) { f.react = nil }, "has no address yet", ""},
		{"no owner", func(t *testing.T, f *fakeSupervisor, _ *corev1.Service) { f.write(t, "ownerref.json", "{}") }, "apiVersion is missing", ""},
		{"no right to create", func(_ *testing.T, f *fakeSupervisor, _ *corev1.Service) {
			f.denied["create virtualmachineservices"] = true
		}, "has no right", ""},
		{"no right to read", func(_ *testing.T, f *fakeSupervisor, _ *corev1.Service) {
			f.denied["get virtualmachineservices"] = true
		}, "has no right", "has no right"},
		{"API missing", func(_ *testing.T, f *fakeSupervisor, _ *corev1.Service) { f.versions = nil }, "the API is missing", "the API is missing"},
		{"wrong namespace", func(t *testing.T, f *fakeSupervisor, _ *corev1.Service) { f.write(t, "namespace", "team-b") }, "has no VirtualMachine of any node", "has no VirtualMachine of any node"},
		{"another Service's", func(_ *testing.T, f *fakeSupervisor, _ *corev1.Service) {
			f.put("virtualmachineservices", object{"apiVersion": "vmoperator.vmware.com/v1alpha2", "kind": "VirtualMachineService", "metadata": object{
				"name": upstreamName, "namespace": namespace, "labels": object{"run.tanzu.vmware.com/service.name": "other"},
			}}, "ADDED")
		}, "belongs to another Service", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSupervisor(t)
			s.add(machine(0))
			s.react = assign("10.9.0.1")
			r := start(t, s, nil, true, newNode(0))
			lb, service := loadBalancers{r.Provider}, newService("web")
			s.set(func() { tc.do(t, s, service) })
			if status, err := lb.EnsureLoadBalancer(t.Context(), cluster, service, nil); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, %v, want %q", status, err, tc.want)
			}
			// The caller gives up a Service, with its finalizer, whose load balancer does not exist: that needs certainty.
			_, exists, err := lb.GetLoadBalancer(t.Context(), cluster, service)
			if tc.delete != "" && (exists || err == nil) {
				t.Errorf("get: %v, %v", exists, err)
			}
			err = lb.EnsureLoadBalancerDeleted(t.Context(), cluster, service)
			if (err == nil) != (tc.delete == "") || err != nil && !strings.Contains(err.Error(), tc.delete) {
				t.Errorf("delete: %v, want %q", err, tc.delete)
			}
			if tc.name == "another Service's" && s.get("virtualmachineservices", upstreamName) == nil {
				t.Error("deleted what is another Service's")
			}
		})
	}
}

// Annotations of the Service are copied and removed; those of others stay.
func TestAnnotationPropagation(t *testing.T) {
	s := newSupervisor(t)
	s.add(machine(0))
	s.react = assign("10.9.0.1")
	r := start(t, s, func(o *Options) { o.PropagateAnnotations = true }, true, newNode(0))
	lb := loadBalancers{r.Provider}
	service := newService("web", func(s *corev1.Service) {
		s.Annotations = map[string]string{"a": "1", "b": "2", corev1.LastAppliedConfigAnnotation: "{}"}
	})
	expect := func(want map[string]string) {
		t.Helper()
		if _, err := lb.EnsureLoadBalancer(t.Context(), cluster, service, nil); err != nil {
			t.Fatal(err)
		}
		got := s.get("virtualmachineservices", upstreamName).GetAnnotations()
		maps.DeleteFunc(got, func(k, _ string) bool { return k == annotationPropagated })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	expect(map[string]string{"a": "1", "b": "2"})
	s.edit(t, "virtualmachineservices", upstreamName, field("x", "metadata", "annotations", "theirs"))
	service.Annotations = map[string]string{"b": "3"}
	expect(map[string]string{"b": "3", "theirs": "x"})
}

// Events on the Service say what the load balancer will not do, once.
func TestLoadBalancerAdvice(t *testing.T) {
	s := newSupervisor(t)
	legacy := func(o object) {
		field(nil, "metadata", "labels", "capv.vmware.com/cluster.name")(o)
		field(object{"capw.vmware.com/cluster.name": cluster, "capw.vmware.com/cluster.role": "node"}, "metadata", "labels")(o)
	}
	s.add(machine(0, legacy))
	s.react = assign("10.9.0.1")
	r := start(t, s, nil, true, newNode(0))
	eventually(t, "a recorder", func() error {
		if r.recorder.Load() == nil {
			return errWaiting
		}
		return nil
	})
	service := newService("web", func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP })
	for range 3 {
		if _, err := (loadBalancers{r.Provider}).EnsureLoadBalancer(t.Context(), cluster, service, nil); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "events", func() error {
		all, err := r.client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		var got []string
		for _, e := range all.Items {
			got = append(got, e.Reason)
			if e.Count > 1 {
				t.Errorf("%s %d times", e.Reason, e.Count)
			}
			if e.Reason == ReasonNoLoadBalancerVMs && !strings.Contains(e.Message, "set --is-legacy-paravirtual=true") {
				t.Errorf("no hint at the other labels: %s", e.Message)
			}
		}
		if len(got) != 2 {
			return errors.New(strings.Join(got, ", "))
		}
		return nil
	})
}
