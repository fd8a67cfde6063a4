package minors

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

const (
	bootTime  = 2 * time.Minute
	buildTime = 30 * time.Minute
)

// home has the program of the checkout in its place: which programs of other releases fit is decided by the sources beside it.
func home(t *testing.T) *program.Home {
	t.Helper()
	path, err := program.Find()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no cache for programs: %v", err)
	}
	env := []string{"XDG_CACHE_HOME=" + cache}
	for _, name := range []string{"GOPATH", "GOMODCACHE", "GOCACHE", "GOPROXY", "GOFLAGS"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return program.NewHome(t, program.Options{Binary: path, Patience: bootTime, Env: env})
}

// need makes sure that there is the program of a release, or skips the test.
func need(t *testing.T, h *program.Home, r release.Release) {
	t.Helper()
	if os.Getenv(Env) != "" {
		if got := h.Within(buildTime, "kubernetes", "fetch", r.Name()); got.Code != 0 {
			t.Fatal(got.Both())
		}
		return
	}
	var list struct {
		Items []struct{ Version, Where string }
	}
	if err := json.Unmarshal([]byte(h.Must("kubernetes", "list", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		if item.Version == r.Version && (item.Where == "cache" || item.Where == "builtin") {
			return
		}
	}
	t.Skipf("%s is not in the cache: vsphere-sandbox kubernetes fetch %s", r.Version, r.Name())
}

// up boots a sandbox, which ends with the test.
func up(t *testing.T, h *program.Home, args ...string) *program.Sandbox {
	t.Helper()
	h.Must(append([]string{"--name", "minors", "up", "--detach"}, args...)...)
	t.Cleanup(func() {
		h.Must("--name", "minors", "down")
		if left := h.Processes(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	return h.Attach("minors")
}

const claim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  containers: [{name: c, image: busybox, args: [sh, -c, "echo hello >/data/greeting; sleep 3600"], volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// Each release boots: everything says which it is, all nodes are initialized, a volume is mounted, and a VM without power is
// noticed.
func TestReleases(t *testing.T) {
	for _, r := range release.All()[1:] {
		t.Run(r.Name(), func(t *testing.T) {
			h := home(t)
			need(t, h, r)
			s := up(t, h, "zones-us-eu", "--kubernetes", r.Name())
			version := program.Kubectl[struct {
				ClientVersion, ServerVersion struct{ GitVersion string }
			}](s, "version")
			if version.ClientVersion.GitVersion != r.Version || version.ServerVersion.GitVersion != r.Version || s.Status().KubernetesVersion != r.Version {
				t.Errorf("%+v, %s", version, s.Status().KubernetesVersion)
			}
			for _, n := range s.Nodes() {
				if n.Version != r.Version || !n.Initialized || n.Zone == "" {
					t.Errorf("%+v", n)
				}
			}
			s.Run("kubectl", "apply", "-f", h.File("claim.yaml", claim))
			s.Run("kubectl", "wait", "--for=condition=Ready", "pod/writer", "--timeout=60s")
			pod := program.Kubectl[corev1.Pod](s, "get", "pod", "writer")
			s.Run("vm", "power-off", pod.Spec.NodeName)
			s.Run("kubectl", "wait", "--for=condition=Ready=Unknown", "node/"+pod.Spec.NodeName, "--timeout=60s")
		})
	}
}

// Kubelets may be up to three minor versions older than the API server.
func TestOlderKubelets(t *testing.T) {
	all := release.All()
	h := home(t)
	for _, r := range []release.Release{all[1], all[3]} {
		need(t, h, r)
	}
	text := h.Must("topology", "render", "zones-us-eu")
	text = withKubelet(t, withKubelet(t, text, "worker-east-1", all[1]), "worker-west-1", all[3])
	file := h.File("skew.yaml", text)
	s := up(t, h, file)
	for name, want := range map[string]string{"worker-east-1": all[1].Version, "worker-west-1": all[3].Version, "worker-eu-1": all[0].Version} {
		if n := s.Node(name); n.Version != want || !n.Initialized {
			t.Errorf("%+v, want %s", n, want)
		}
	}
	s.Run("vm", "power-off", "worker-west-1")
	s.Run("kubectl", "wait", "--for=condition=Ready=Unknown", "node/worker-west-1", "--timeout=60s")
	s.Run("vm", "power-on", "worker-west-1")
	s.Run("kubectl", "wait", "--for=condition=Ready", "node/worker-west-1", "--timeout=60s")
}

// A kubelet is never newer than the API server.
func TestNewerKubelet(t *testing.T) {
	all := release.All()
	h := home(t)
	need(t, h, all[1])
	file := h.File("newer.yaml", withKubelet(t, h.Must("topology", "render", "single"), "worker-1", all[0]))
	r := h.Try("up", file, "--kubernetes", all[1].Name())
	if r.Code != 2 || !strings.Contains(r.Err, "is newer than the API server") {
		t.Errorf("exit status %d\n%s", r.Code, r.Both())
	}
}

// withKubelet adds the release of its kubelet to a VM of a topology that was rendered.
func withKubelet(t *testing.T, text, vm string, r release.Release) string {
	t.Helper()
	before, after, ok := strings.Cut(text, "- name: "+vm+"\n")
	if !ok {
		t.Fatalf("there is no %s in\n%s", vm, text)
	}
	indent := strings.Repeat(" ", len(before)-strings.LastIndexByte(before, '\n')+1)
	return before + "- name: " + vm + "\n" + indent + "kubelet: " + r.Name() + "\n" + after
}
