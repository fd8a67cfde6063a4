package e2e

import (
	"strings"
	"testing"
	"time"
)

// What pods do, as kubectl shows it: a pod whose volume is not mounted is not ready, and its Deployment is not available; a Job
// completes; a crash is backed off; a chart's StatefulSet writes to its volume, and reads that on the next node.
func TestPods(t *testing.T) {
	t.Parallel()
	s := newHome(t).up("pods", "zones-us-eu", "--csi", "builtin")
	s.Run("kubectl", "apply", "-f", s.shipped("test/e2e/testdata/pods.yaml"))

	s.Run("kubectl", "wait", "job/count", "--for=condition=Complete", "--timeout=60s")
	if got := s.Run("kubectl", "logs", "job/count"); got != "1\n2\n3\n" {
		t.Errorf("the Job's log: %q", got)
	}

	s.Run("kubectl", "wait", "deployment/unmounted", "--for=condition=Progressing=False", "--timeout=60s")
	if got := s.kubectlJSON("deployment", "unmounted", `{.status.conditions[?(@.type=="Available")].status} {.status.readyReplicas}`); got != "False " {
		t.Errorf("Deployment with a pod that is not mounted: available %q", got)
	}
	if got := s.kubectlJSON("pods", "-lapp=unmounted", `{.items[0].status.containerStatuses[0].ready} {.items[0].status.conditions[?(@.type=="Ready")].status}`); got != "false False" {
		t.Errorf("pod that is not mounted: ready %q", got)
	}
	if pods := s.Run("kubectl", "get", "pods", "-lapp=unmounted"); !strings.Contains(pods, "0/1") || !strings.Contains(pods, "ContainerCreating") {
		t.Error(pods)
	}
	s.Await("the kubelet says why", time.Minute, func() bool {
		return strings.Contains(s.Run("kubectl", "events", "--types=Warning"), `configmap "none" not found`)
	})

	s.Await("it crashes", time.Minute, func() bool {
		return s.kubectlJSON("pods", "-lapp=crash", `{.items[0].status.containerStatuses[0].state.waiting.reason} {.items[0].status.containerStatuses[0].lastState.terminated.exitCode}`) == "CrashLoopBackOff 3"
	})

	s.Run("kubectl", "rollout", "status", "statefulset/shop", "--timeout=60s")
	first := s.kubectlJSON("pod", "shop-0", "{.spec.nodeName}")
	if got := s.Run("kubectl", "exec", "shop-0", "--", "cat", "/data/log"); got != "hello from "+first+"\n" {
		t.Errorf("the volume has %q", got)
	}
	s.Run("kubectl", "exec", "shop-0", "--", "rm", "/tmp/healthy")
	s.Await("its liveness probe fails", time.Minute, func() bool {
		return s.kubectlJSON("pod", "shop-0", "{.status.containerStatuses[0].restartCount}") == "1"
	})
	s.Run("kubectl", "rollout", "status", "statefulset/shop", "--timeout=60s")

	s.Run("kubectl", "cordon", first)
	s.Run("kubectl", "delete", "pod", "shop-0")
	s.Run("kubectl", "rollout", "status", "statefulset/shop", "--timeout=60s")
	second := s.kubectlJSON("pod", "shop-0", "{.spec.nodeName}")
	want := "hello from " + first + "\nhello from " + first + "\nhello from " + second + "\n"
	if got := s.Run("kubectl", "exec", "shop-0", "--", "cat", "/data/log"); got != want || first == second {
		t.Errorf("the volume has %q on %s", got, second)
	}
}

// kubectlJSON is `kubectl get` of what a JSONPath expression selects.
func (s *sandbox) kubectlJSON(kind, name, path string) string {
	s.T.Helper()
	return s.Run("kubectl", "get", kind, name, "-o", "jsonpath="+path)
}
