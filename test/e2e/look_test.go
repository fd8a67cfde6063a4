package e2e

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
)

// lookIntoPods looks into a pod with kubectl: through its node's kubelet, or with the reason why not.
func lookIntoPods(s *sandbox) {
	const pod, vm = "looked-at", "worker-west-1"
	s.T.Cleanup(func() { s.Try("--name", s.Name, "kubectl", "delete", "pod", pod, "--force", "--ignore-not-found") })
	s.Run("kubectl", "run", pod, "--image=busybox", "--restart=Never", `--overrides={"spec":{"nodeName":"`+vm+`"}}`, "--", "sh", "-c", "echo hello; sleep 1000")
	s.Run("kubectl", "wait", "--for=condition=Ready", "pod/"+pod, "--timeout=30s")
	for _, look := range []struct {
		want string
		args []string
	}{
		{"hello", []string{"logs", pod}},
		{pod, []string{"exec", pod, "--", "hostname"}},
		{"ok", []string{"get", "--raw", "/api/v1/nodes/" + vm + "/proxy/healthz"}},
		{`"podRef"`, []string{"get", "--raw", "/api/v1/nodes/" + vm + "/proxy/stats/summary"}},
		{"node_cpu_usage_seconds_total", []string{"get", "--raw", "/api/v1/nodes/" + vm + "/proxy/metrics/resource"}},
		{"10250", []string{"get", "node", vm, "-o", "jsonpath={.status.daemonEndpoints.kubeletEndpoint.Port}"}},
		{"yes", []string{"auth", "can-i", "get", "nodes", "--subresource=proxy", "--as=kube-apiserver-kubelet-client"}},
	} {
		if out := s.Run(append([]string{"kubectl"}, look.args...)...); !strings.Contains(out, look.want) {
			s.T.Errorf("kubectl %s: %q, want %q", strings.Join(look.args, " "), out, look.want)
		}
	}
	// The API server as a client of kubelets has no other rights.
	if r := s.Try("--name", s.Name, "kubectl", "auth", "can-i", "get", "secrets", "--as=kube-apiserver-kubelet-client"); r.Code == 0 {
		s.T.Errorf("the kubelet client may read secrets: %s", r.Out)
	}
	// What the kubelet's server would show of this machine is off.
	if r := s.Try("--name", s.Name, "kubectl", "get", "--raw", "/api/v1/nodes/"+vm+"/proxy/logs/"); r.Code == 0 {
		s.T.Errorf("the node shows logs of the machine: %s", r.Out)
	}

	s.Run("kubectl", "wait", "--for=condition=Available", "apiservice/v1beta1.metrics.k8s.io", "--timeout=30s")
	if out := s.Run("kubectl", "top", "pod", pod, "--no-headers"); !strings.Contains(out, pod) {
		s.T.Errorf("kubectl top pod: %s", out)
	}
	if out := s.Run("kubectl", "top", "nodes", "--no-headers"); !strings.Contains(out, vm) || strings.Contains(out, "unknown") {
		s.T.Errorf("kubectl top nodes: %s", out)
	}

	s.vm("power-off", vm)
	for _, look := range [][]string{{"exec", pod, "--", "true"}, {"get", "--raw", "/api/v1/nodes/" + vm + "/proxy/healthz"}} {
		r := s.Try(append([]string{"--name", s.Name, "kubectl"}, look...)...)
		if r.Code == 0 || !strings.Contains(r.Err, "VM "+vm+" is off") {
			s.T.Errorf("kubectl %s: %d: %s%s, want it to name the VM", strings.Join(look, " "), r.Code, r.Out, r.Err)
		}
	}
}

// aggregatedAPI serves an API of the user's own from this machine, as docs/pods-look.md describes.
func aggregatedAPI(s *sandbox) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/apis/lab.example/v1":
			_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"lab.example/v1","resources":[{"name":"things","namespaced":false,"kind":"Thing","verbs":["get"]}]}`)
		case "/apis/lab.example/v1/things/one":
			_, _ = io.WriteString(w, `{"kind":"Thing","apiVersion":"lab.example/v1","metadata":{"name":"one"},"user":"`+r.Header.Get("X-Remote-User")+`"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	s.T.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() {
		s.Try("--name", s.Name, "kubectl", "delete", "apiservice/v1.lab.example", "service/lab", "--ignore-not-found")
	})
	s.Run("kubectl", "apply", "-f", s.File("lab.yaml", `apiVersion: v1
kind: Service
metadata: {name: lab, namespace: default}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.lab.example}
spec:
  group: lab.example
  version: v1
  service: {name: lab, namespace: default, port: `+port+`}
  insecureSkipTLSVerify: true
  groupPriorityMinimum: 100
  versionPriority: 100
`))
	s.Run("kubectl", "wait", "--for=condition=Available", "apiservice/v1.lab.example", "--timeout=30s")
	if out := s.Run("kubectl", "get", "thing", "one", "-o", "jsonpath={.metadata.name} {.user}"); !strings.HasPrefix(out, "one ") || out == "one " {
		s.T.Errorf("kubectl get thing: %q", out)
	}
}
