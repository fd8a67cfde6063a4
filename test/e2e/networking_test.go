package e2e

import (
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

// A Service of type LoadBalancer has an Event that says why it stays pending.
func loadBalancerStaysPending(s *sandbox) {
	s.Run("kubectl", "create", "service", "loadbalancer", "web", "--tcp=80")
	var list corev1.EventList
	s.Await("event on the Service", reaction, func() bool {
		list = program.Kubectl[corev1.EventList](s.Sandbox, "get", "events", "--field-selector", "involvedObject.kind=Service,involvedObject.name=web,reason=NoLoadBalancer")
		return len(list.Items) > 0
	})
	if text := list.Items[0].Message; !strings.Contains(text, "the vSphere cloud provider has no load balancers") {
		s.T.Errorf("event %q", text)
	}
	s.Run("kubectl", "delete", "service", "web")
}
