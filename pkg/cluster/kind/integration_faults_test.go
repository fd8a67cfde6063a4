package kind

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// TestRealCancel ends the making at several moments: nothing may be left.
func TestRealCancel(t *testing.T) {
	for _, at := range []string{"preparing nodes", "starting control-plane"} {
		t.Run(at, func(t *testing.T) {
			c, _ := realCluster(t, "kind-cancel", Node{Name: "worker-1", UUID: "42010000-0000-4000-8000-000000000011"})
			ctx, cancel := context.WithCancelCause(t.Context())
			interrupted := errors.New("interrupted")
			notify := c.opts.Progress
			c.opts.Progress = func(line string) {
				notify(line)
				if strings.Contains(line, at) {
					cancel(interrupted)
				}
			}
			began := time.Now()
			if err := c.Create(ctx); !errors.Is(err, interrupted) {
				t.Fatalf("ended with %v", err)
			}
			t.Logf("over after %v", time.Since(began).Round(100*time.Millisecond))
			if left, err := Leftovers(t.Context(), c.rt, "kind-cancel"); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			if left, err := os.ReadDir(c.opts.Dir); err != nil || len(left) > 0 {
				t.Errorf("files left: %v, %v", left, err)
			}
		})
	}
}

// TestRealReap has a container of a killed sandbox and one of another owner.
func TestRealReap(t *testing.T) {
	c, _ := realCluster(t, "kind-reap")
	other := t.TempDir()
	for name, dir := range map[string]string{"ours": c.opts.Dir, "theirs": other} {
		if err := os.WriteFile(ownerFile(dir), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{
			"run", "--detach", "--name", "vsphere-sandbox-kind-reap-" + name, "--network", "none", "--label", clusterLabel + "=vsphere-sandbox-kind-reap",
			"--volume", "/var", "--volume", ownerFile(dir) + ":" + ownerPath + ":ro", "--entrypoint", "sleep", c.opts.Image, "600",
		}
		if _, err := c.rt.Output(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := c.rt.Remove(context.Background(), "vsphere-sandbox-kind-reap-theirs"); err != nil {
			t.Error(err)
		}
	})
	if removed, err := Reap(t.Context(), c.rt, "kind-reap", c.opts.Dir); err != nil || !slices.Equal(removed, []string{"vsphere-sandbox-kind-reap-ours"}) {
		t.Errorf("removed %v, %v", removed, err)
	}
	left, err := Leftovers(t.Context(), c.rt, "kind-reap")
	if diff := cmp.Diff([]Leftover{{Container: "vsphere-sandbox-kind-reap-theirs", Dir: other}}, left); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestRealFailure has a kubelet that cannot start: its own words have to come back, and nothing may be left.
func TestRealFailure(t *testing.T) {
	c, _ := realCluster(t, "kind-fails")
	opts := c.opts
	opts.UserConfig = []byte(`kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
kubeadmConfigPatches:
- |
  kind: InitConfiguration
  timeouts: {kubeletHealthCheck: 3s}
  nodeRegistration:
    kubeletExtraArgs: [{name: no-such-flag, value: x}]
`)
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Create(t.Context())
	t.Logf("error:\n%v", err)
	if !coded.Is(err, CreateFailed) || !strings.Contains(err.Error(), "while starting control-plane") || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("the kubelet's reason is lost: %v", err)
	}
	if left, err := Leftovers(t.Context(), c.rt, "kind-fails"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestRealThree measures: what is ours beyond kind's own time, with a control plane that is no VM, one of two
// control-plane VMs and a worker.
func TestRealThree(t *testing.T) {
	c, said := realCluster(t, "kind-three",
		Node{Name: "worker-1", UUID: "42010000-0000-4000-8000-000000000011"}, Node{Name: "worker-2", UUID: "42010000-0000-4000-8000-000000000012"})
	began := time.Now()
	var at []time.Duration
	notify := c.opts.Progress
	c.opts.Progress = func(line string) {
		notify(line)
		at = append(at, time.Since(began))
	}
	if err := c.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	total := time.Since(began)
	from, to := time.Duration(0), total
	for i, line := range *said {
		switch {
		case strings.HasPrefix(line, "creating cluster"):
			from = at[i]
		case line == "writing the kubeconfig":
			to = at[i]
		}
	}
	t.Logf("three nodes in %v, of which kind's own %v, ours %v", total.Round(100*time.Millisecond), (to - from).Round(100*time.Millisecond), (total - to + from).Round(10*time.Millisecond))
	if ours := total - to + from; ours > 20*time.Second {
		t.Errorf("ours is %v, and may be 20 s", ours)
	}
	spare, err := c.Client().CoreV1().Nodes().Get(t.Context(), c.ExtraControlPlane(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(spare.Spec.ProviderID, "kind://") || slices.ContainsFunc(spare.Spec.Taints, func(t corev1.Taint) bool { return strings.Contains(t.Key, "cloudprovider") }) {
		t.Errorf("the node that is no VM has providerID %q and taints %v", spare.Spec.ProviderID, spare.Spec.Taints)
	}
}
