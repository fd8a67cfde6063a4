package clusterwatch

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
)

func service(edits ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

// A Service of type LoadBalancer that nothing serves has one Event, which says why it stays pending.
func TestServiceStaysPending(t *testing.T) {
	clusterIP := service(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
	for name, tc := range map[string]struct {
		old, new *corev1.Service
		gone     bool
		events   int
	}{
		"new":           {nil, service(), false, 1},
		"becomes one":   {clusterIP, service(), false, 1},
		"was one":       {service(), service(), false, 0},
		"same name":     {service(func(s *corev1.Service) { s.UID = "0" }), service(), false, 1},
		"deleted":       {nil, service(), true, 0},
		"ClusterIP":     {nil, clusterIP, false, 0},
		"another class": {nil, service(func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("example.com/lb") }), false, 0},
		"has an address": {nil, service(func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
		}), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			w := watch(t)
			w.Client = func() kubernetes.Interface { return client }
			for range 2 { // a watch reports an object again after a gap
				w.serviceChanged(tc.old, tc.new, tc.gone)
			}
			if err := w.Background.End(t.Context(), group); err != nil {
				t.Fatal(err)
			}
			list, err := client.CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != tc.events {
				t.Fatalf("events %+v, %v; want %d", list.Items, err, tc.events)
			}
			for _, e := range list.Items {
				if e.InvolvedObject.Name != "web" || e.InvolvedObject.UID != "1" || !strings.Contains(e.Message, "no load balancer (--loadbalancer none)") || len(e.Message) > 1024 {
					t.Errorf("event %+v", e)
				}
			}
		})
	}
}
