package kind

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kind/pkg/exec"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

const kubeadmSaid = `I1122 17:00:00.000000     123 initconfiguration.go:255] loading configuration from "/kind/kubeadm.conf"
W1122 17:00:00.000000     123 common.go:101] your configuration file uses a deprecated API
[kubelet-check] Waiting for a healthy kubelet at http://127.0.0.1:10248/healthz. This can take up to 4m0s
[kubelet-check] The kubelet is not healthy after 4m0.000000000s

Unfortunately, an error has occurred, likely caused by:
	- The kubelet is not running
	- The kubelet is unhealthy due to a misconfiguration of the node in some way
error: error execution phase kubelet-start: failed while waiting for the kubelet to start
k8s.io/kubernetes/cmd/kubeadm/app/cmd/phases/workflow.(*Runner).Run.func1
	k8s.io/kubernetes/cmd/kubeadm/app/cmd/phases/workflow/runner.go:262
main.main
	k8s.io/kubernetes/cmd/kubeadm/kubeadm.go:25`

func TestSignificant(t *testing.T) {
	want := []string{
		"Unfortunately, an error has occurred, likely caused by:",
		"- The kubelet is unhealthy due to a misconfiguration of the node in some way",
		"error: error execution phase kubelet-start: failed while waiting for the kubelet to start",
	}
	if diff := cmp.Diff(want, significant(strings.Split(kubeadmSaid, "\n"), 3)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "c"}, significant([]string{"a", "b", "c", ""}, 2)); diff != "" {
		t.Errorf("nothing bad (-want +got):\n%s", diff)
	}
}

// The error has kubeadm's words and the nodes', and not a page of either.
func TestReason(t *testing.T) {
	failed := func(said string) error {
		return &exec.RunError{Command: []string{"docker", "exec"}, Output: []byte(said), Inner: &runtime.ExitError{Status: 1}}
	}
	running := `[{"Id":"1","State":{"Status":"running"}}]`
	c, _, _ := fakedCluster(t, map[string]string{
		"container inspect vsphere-sandbox-demo-control-plane": running,
		"exec --privileged vsphere-sandbox-demo-control-plane journalctl": "I1122 17:00:00.0 1 a.go:1] fine\n" +
			"E1122 17:00:00.123456     250 run.go:72] \"command failed\" err=\"kubelet is configured to not run on a host using cgroup v1\"\n",
		"container inspect vsphere-sandbox-demo-worker":  `[{"Id":"2","State":{"Status":"exited","ExitCode":137}}]`,
		"logs --tail 20 vsphere-sandbox-demo-worker":     "booting\nfailed to mount cgroups\n",
		"container inspect vsphere-sandbox-demo-worker2": "!Error response from daemon: No such container: x",
	})
	l := &logger{say: func(string, ...any) {}}
	l.V(0).Infof(" • %s  ...\n", "Starting control-plane 🕹️")
	err := c.reason(t.Context(), failed(kubeadmSaid), l)
	want := `cluster vsphere-sandbox-demo: kind gave up while starting control-plane
  - The kubelet is not running
  Unfortunately, an error has occurred, likely caused by:
  - The kubelet is unhealthy due to a misconfiguration of the node in some way
  error: error execution phase kubelet-start: failed while waiting for the kubelet to start
  vsphere-sandbox-demo-control-plane: kubelet: run.go:72] "command failed" err="kubelet is configured to not run on a host using cgroup v1"
  container vsphere-sandbox-demo-worker has ended (exited, exit code 137)
  vsphere-sandbox-demo-worker: failed to mount cgroups`
	want = strings.Replace(want, "  - The kubelet is not running\n", "  [kubelet-check] The kubelet is not healthy after 4m0.000000000s\n", 1)
	if diff := cmp.Diff(want, err.Error()); !coded.Is(err, CreateFailed) || diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	err = c.reason(t.Context(), failed("docker: Error response from daemon: driver failed: Bind for 127.0.0.1:6443 failed: port is already allocated."), l)
	if !coded.Is(err, PortTaken) || !strings.Contains(err.Error(), "127.0.0.1:6443") {
		t.Errorf("port: %v", err)
	}
	err = c.reason(t.Context(), failed("OCI runtime create failed: unable to apply caps: operation not permitted: unknown"), l)
	if !coded.Is(err, CreateFailed) || !strings.Contains(err.Error(), "lacks a capability") {
		t.Errorf("capability: %v", err)
	}
	c.rt, _ = faked(t, map[string]string{"container inspect": running, "exec": "E1122 17:00:00.0 1 a.go:170] \"Failed to watch\" err=\"couldn't initialize inotify: too many open files\"\n"})
	var e *coded.Error
	if err = c.reason(t.Context(), failed(kubeadmSaid), l); !errors.As(err, &e) || !strings.HasPrefix(e.Try, inotifyTry) {
		t.Errorf("inotify: %v", err)
	}
	known := coded.New(NodeGone, "", nil, "known")
	if got := c.reason(t.Context(), known, l); got != error(known) {
		t.Errorf("a known reason: %v", got)
	}
}

func TestInotify(t *testing.T) {
	file := filepath.Join(t.TempDir(), "max_user_instances")
	if got := inotify(file, 6); got != "" {
		t.Errorf("no such limit: %q", got)
	}
	if err := os.WriteFile(file, []byte("128\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for nodes, few := range map[int]bool{1: false, 3: false, 6: false, 7: true} {
		if got := inotify(file, nodes); (got != "") != few {
			t.Errorf("%d nodes: %q", nodes, got)
		}
	}
}
