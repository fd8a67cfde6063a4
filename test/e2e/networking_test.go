package e2e

import (
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// A webhook that names a Service is refused at once, with what to use in place of it, and one with a URL is not.
func webhookWithService(s *sandbox) {
	t := s.T
	const webhook = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: checks}
webhooks:
- name: checks.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [nothing]}]
  clientConfig: CONFIG
`
	const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Shop, plural: shops}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: CONFIG}
`
	for name, tc := range map[string]struct{ object, refused string }{
		"webhook": {webhook, "webhook checks.example.com: clientConfig.service cannot be reached"},
		"crd":     {crd, "conversion webhook: clientConfig.service cannot be reached"},
	} {
		file := s.File(name+"-service.yaml", strings.Replace(tc.object, "CONFIG", "{service: {namespace: default, name: checks}}", 1))
		began := time.Now()
		r := s.Try("--name", s.Name, "kubectl", "create", "-f", file)
		if r.Code == 0 || !strings.Contains(r.Both(), tc.refused) || !strings.Contains(r.Both(), "set clientConfig.url") {
			t.Errorf("%s: exit status %d:\n%s", name, r.Code, r.Both())
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: refused after %s", name, took)
		}
		file = s.File(name+"-url.yaml", strings.Replace(tc.object, "CONFIG", `{url: "https://127.0.0.1:9443/check"}`, 1))
		s.Run("kubectl", "create", "-f", file)
		s.Run("kubectl", "delete", "-f", file)
	}
}

// A Service of type LoadBalancer has an address that answers: for pods that run no program a page, and the pod itself once it declares
// its port. It ends with its Service.
func loadBalancerAnswers(s *sandbox) {
	t := s.T
	s.Run("kubectl", "create", "deployment", "shop", "--image=nginx")
	s.Run("kubectl", "expose", "deployment", "shop", "--port=18080", "--target-port=80", "--type=LoadBalancer")
	var address string
	s.Await("address of the Service", reaction, func() bool {
		service := program.Kubectl[corev1.Service](s.Sandbox, "get", "service", "shop")
		if all := service.Status.LoadBalancer.Ingress; len(all) > 0 {
			address = net.JoinHostPort(all[0].IP, "18080")
		}
		return address != ""
	})
	get := func() (status int, body string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/cart", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		all, err := io.ReadAll(response.Body)
		if err != nil {
			return 0, err.Error()
		}
		return response.StatusCode, string(all)
	}
	await := func(want string) {
		t.Helper()
		var status int
		var body string
		s.Await("answer with "+want, time.Minute, func() bool {
			status, body = get()
			return status == http.StatusOK && strings.Contains(body, want)
		})
	}
	await("Service default/shop, port 18080: this connection belongs to pod shop-")
	if text := s.Run("explain", "service", "shop"); !strings.Contains(text, "it answers at "+address) || !strings.Contains(text, "Pod shop-") {
		t.Errorf("explain service:\n%s", text)
	}
	s.Run("kubectl", "patch", "deployment", "shop", "--type=merge", "-p",
		`{"spec":{"template":{"metadata":{"annotations":{"sandbox.vsphere/behavior":"{ports: {80: http}}"}}}}}`)
	await("GET /cart\npod: default/shop-")
	events := program.Kubectl[corev1.EventList](s.Sandbox, "get", "events", "--field-selector", "involvedObject.kind=Service,involvedObject.name=shop")
	if len(events.Items) != 1 || events.Items[0].Reason != "LoadBalancerAddress" || events.Items[0].Message != "answers at "+address {
		t.Errorf("events %+v", events.Items)
	}
	s.Run("kubectl", "delete", "service,deployment", "shop")
	s.Await("end of the listener", reaction, func() bool {
		status, body := get()
		return status == 0 && strings.Contains(body, "refused")
	})
}

// A Service of type LoadBalancer has an Event that says why it stays pending.
func loadBalancerStaysPending(s *sandbox) {
	s.Run("kubectl", "create", "service", "loadbalancer", "web", "--tcp=80")
	var list corev1.EventList
	s.Await("event on the Service", reaction, func() bool {
		list = program.Kubectl[corev1.EventList](s.Sandbox, "get", "events", "--field-selector", "involvedObject.kind=Service,involvedObject.name=web,reason=NoLoadBalancer")
		return len(list.Items) > 0
	})
	if text := list.Items[0].Message; !strings.Contains(text, "this sandbox has no load balancer (--loadbalancer none)") {
		s.T.Errorf("event %q", text)
	}
	s.Run("kubectl", "delete", "service", "web")
}
