package kind

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// Node images of other Kubernetes releases than the default one boot, with flags for the components: all nodes are initialized, a
// pod writes to a volume, and a VM without power is noticed.
func TestReleases(t *testing.T) {
	if testing.Short() {
		t.Skip("takes many minutes; left out by -short")
	}
	able(t)
	for _, r := range release.All() {
		if r.Version == release.Kind() {
			continue
		}
		t.Run(r.Name(), func(t *testing.T) {
			image, why, err := imageOf(r.Version)
			if err != nil {
				t.Fatal(err)
			}
			if why != "" {
				t.Skip(why)
			}
			h := newHome(t)
			begin := time.Now()
			s := h.upOn(image, "releases", append([]string{"single"}, knobs...)...)
			took(t, "single is up on "+r.Version, begin)
			s.checkNodes("single")
			for _, n := range s.Nodes() {
				if n.Version != r.Version {
					t.Errorf("node %s is of %s", n.Name, n.Version)
				}
			}
			if got := s.Status().KubernetesVersion; got != r.Version {
				t.Errorf("status: Kubernetes %s", got)
			}
			s.checkKnobs()
			s.checkWritten()
			begin = time.Now()
			s.Run("down")
			took(t, "it is down", begin)
			h.nothingLeft()
		})
	}
}

// knobs are flags of all kinds that are for components, each with something to see of it.
var knobs = []string{
	"--apiserver-arg", "goaway-chance=0.001",
	"--controller-manager-arg", "concurrent-gc-syncs=3",
	"--scheduler-arg", "kube-api-qps=33",
	"--feature-gates", "CoordinatedLeaderElection=true",
	"--runtime-config", "coordination.k8s.io/v1beta1=true",
}

// checkKnobs wants the flags of [knobs] to have reached the components.
func (s *sandbox) checkKnobs() {
	s.T.Helper()
	commands := map[string]string{}
	for _, p := range program.Kubectl[corev1.PodList](s.Sandbox, "get", "pods", "-n", "kube-system", "-l", "tier=control-plane").Items {
		commands[p.Labels["component"]] = " " + strings.Join(p.Spec.Containers[0].Command, " ") + " "
	}
	for component, flags := range map[string][]string{
		"kube-apiserver":          {"--goaway-chance=0.001", "CoordinatedLeaderElection=true", "coordination.k8s.io/v1beta1=true"},
		"kube-controller-manager": {"--concurrent-gc-syncs=3", "CoordinatedLeaderElection=true", "--cloud-provider=external"},
		"kube-scheduler":          {"--kube-api-qps=33", "CoordinatedLeaderElection=true"},
	} {
		for _, flag := range flags {
			if !strings.Contains(commands[component], flag) {
				s.T.Errorf("%s has no %s:%s", component, flag, commands[component])
			}
		}
	}
	if text := s.Run("kubectl", "get", "--raw", "/metrics"); !strings.Contains(text, `kubernetes_feature_enabled{name="CoordinatedLeaderElection",stage="BETA"} 1`) {
		s.T.Error("the feature gate is not on")
	}
	s.Run("kubectl", "get", "--raw", "/apis/coordination.k8s.io/v1beta1")
}

// checkWritten runs a pod that writes to a volume, turns its VM off, and wants the node to be known as shut down, and well when the
// VM is on again.
func (s *sandbox) checkWritten() {
	s.T.Helper()
	s.give(scribe)
	s.Run("kubectl", "apply", "-f", s.File("book.yaml", anywhere(writer("book", ""))))
	s.await("the pod has the volume", 2*time.Minute, func() string { return s.inUse("book", "") })
	v := s.volume("book")
	s.await("it has written", time.Minute, func() string { return s.read("book", v.Node, "written on "+v.Node) })
	s.Run("vm", "power-off", v.VM)
	s.await("the node is not ready, and known to be shut down", 2*time.Minute, func() string { return s.shutDown(v.Node) })
	s.Run("vm", "power-on", v.VM)
	s.await("all nodes are well", 2*time.Minute, s.unwell)
}
