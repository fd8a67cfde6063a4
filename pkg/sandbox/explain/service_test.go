package explain

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// service is the case of one that answers, with changes.
func service(changes ...func(*Service)) Service {
	c := Service{Around: Around{Now: now}}
	c.Service = &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
		Status:     corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "127.1.0.1"}}}},
	}
	node := "w1"
	c.Slices.Is = []discoveryv1.EndpointSlice{{Endpoints: []discoveryv1.Endpoint{{
		Addresses: []string{"10.0.0.1"}, NodeName: &node, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "web-0"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
	}}}}
	for _, change := range changes {
		change(&c)
	}
	return c
}

func TestService(t *testing.T) {
	pending := func(c *Service) { c.Service.Status = corev1.ServiceStatus{} }
	reported := func(kind, reason, text string) func(*Service) {
		return func(c *Service) {
			c.Reported.Is = append(c.Reported.Is, corev1.Event{Type: kind, Reason: reason, Message: text})
		}
	}
	inNSX := func(state string) func(*Service) {
		return func(c *Service) {
			c.NSX = &Answer[[]api.NSXObject]{Is: []api.NSXObject{
				{Type: "LBVirtualServer", Name: "vs", Service: "shop/web", State: state, Error: "no edge"}, {Type: "LBPool", Service: "shop/other", State: "ERROR"},
			}}
		}
	}
	for _, tc := range []struct {
		name    string
		service Service
		ask     string
		level   event.Level
		want    string
		try     string
	}{
		{"answers", service(), "Where does it answer?", event.Info, "it answers at 127.1.0.1:80", ""},
		{"of another type", service(func(c *Service) { c.Service.Spec.Type = "" }), "Where does it answer?", event.Info, "in the cluster only: type ClusterIP", ""},
		{"refused", service(pending, reported("Warning", "LoadBalancerFailed", "port 80 is in use")), "Why has it no address?", event.Error, "port 80 is in use", ""},
		{"of a class", service(pending, func(c *Service) { c.Service.Spec.LoadBalancerClass = new("x/y") }), "Why has it no address?", event.Warning, `nothing has served its class "x/y" yet`, ""},
		{"silent", service(pending, reported("Normal", "Type", "ClusterIP -> LoadBalancer")), "Why has it no address?", event.Warning, "no Event says why", ""},
		{"Events unknown", service(pending, func(c *Service) { c.Reported.Err = errors.New("refused") }), "Why has it no address?", event.Warning, "its Events could not be read", ""},
		{"leaves", service(pending, func(c *Service) {
			c.Service.DeletionTimestamp, c.Service.Finalizers = &metav1.Time{Time: now}, []string{"service.kubernetes.io/load-balancer-cleanup"}
		}), "Why is it still there?", event.Warning, "its finalizers are service.kubernetes.io/load-balancer-cleanup", ""},
		{"a port moved", service(func(c *Service) {
			c.Service.Spec.Ports = append(c.Service.Spec.Ports, corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP})
			c.Service.Status.LoadBalancer.Ingress[0].Ports = []corev1.PortStatus{{Port: 80, Protocol: corev1.ProtocolTCP}, {Port: 53, Protocol: corev1.ProtocolUDP, Error: new("ProtocolNotForwarded")}}
		}), "Where does it answer?", event.Warning, "it answers at 127.1.0.1:80; but status.loadBalancer: port 53: ProtocolNotForwarded", ""},
		{"not ready", service(func(c *Service) { c.Slices.Is[0].Endpoints[0].Conditions.Ready = new(false) }), "What answers?", event.Error, "0 of 1 endpoints are ready", "get pods -n shop"},
		{"no pods", service(func(c *Service) { c.Slices.Is = nil }), "What answers?", event.Error, "no pod has its labels app=web", "-l app=web"},
		{"no selector", service(func(c *Service) { c.Slices.Is, c.Service.Spec.Selector = nil, nil }), "What answers?", event.Warning, "it selects no pods", ""},
		{"NSX fails", service(inNSX("ERROR")), "What does NSX have of it?", event.Error, "NSX cannot realize LBVirtualServer vs: no edge", "get nsx shop/web"},
		{"NSX works", service(inNSX("UNREALIZED")), "What does NSX have of it?", event.Warning, "1 objects, of which NSX has not realized 1 yet", "get nsx shop/web"},
		{"NSX has nothing", service(func(c *Service) { c.NSX = &Answer[[]api.NSXObject]{} }), "What does NSX have of it?", event.Warning, "has made no object for it", "logs ccm"},
		{"NSX unknown", service(func(c *Service) { c.NSX = &Answer[[]api.NSXObject]{Err: errors.New("refused")} }), "What does NSX have of it?", event.Warning, "could not be read", ""},
		{"slices unknown", service(func(c *Service) { c.Slices.Err = errors.New("refused") }), "What answers?", event.Warning, "its EndpointSlices could not be read", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := tc.service.Explain()
			q := e.Questions[0]
			if q.Ask != tc.ask || q.Level != tc.level || !strings.Contains(q.Answer, tc.want) || !strings.Contains(q.Try, tc.try) || tc.try == "" && q.Try != "" {
				t.Errorf("got %+v", q)
			}
			if !strings.HasPrefix(e.Summary, "service shop/web: ") || !strings.Contains(e.Summary, tc.want) {
				t.Errorf("summary: %s", e.Summary)
			}
		})
	}
}
