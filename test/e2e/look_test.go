package e2e

import "strings"

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
