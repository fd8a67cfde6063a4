package e2e

import (
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// kubectl and etcdctl are those of the sandbox's release, and its components can be asked.
func components(s *sandbox) {
	st := s.Status()
	for name, url := range map[string]string{"kube-controller-manager": st.ControllerManager, "kube-scheduler": st.Scheduler} {
		if text := s.Run("kubectl", "--server", url, "get", "--raw", "/metrics"); !strings.Contains(text, "process_start_time_seconds") {
			s.T.Errorf("metrics of %s at %s:\n%s", name, url, text)
		}
	}
	if keys := s.Run("etcdctl", "get", "/registry/minions", "--prefix", "--keys-only"); strings.Count(keys, "/registry/minions/") != st.Nodes.Wanted {
		s.T.Errorf("nodes in etcd:\n%s", keys)
	}
	version := program.Kubectl[struct {
		ClientVersion, ServerVersion struct{ GitVersion string }
	}](s.Sandbox, "version")
	if want := release.Default().Version; version.ClientVersion.GitVersion != want || version.ServerVersion.GitVersion != want || st.KubernetesVersion != want {
		s.T.Errorf("%+v, status says %s, want %s", version, st.KubernetesVersion, want)
	}
	if r := (&home{s.Home}).Try("--name", s.Name, "kubectl", "get", "nothing"); r.Code != 1 || !strings.Contains(r.Err, "doesn't have a resource type") {
		s.T.Errorf("kubectl's own error: exit status %d, %s", r.Code, r.Both())
	}
}

// Flags of the components reach them, and what they refuse is said before anything starts.
func TestComponentFlags(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	policy := h.File("policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Request, resources: [{group: '', resources: [nodes]}]}]\n")
	scheduling := h.File("scheduling.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: mine}]\n")
	r := h.Try("up", "single", "--apiserver-arg", "secure-port=1", "--feature-gates", "CoordinatedLeaderElectio=true")
	r.Wants(t, 2, "--secure-port: the sandbox sets it itself", "did you mean CoordinatedLeaderElection?", "try: ")
	h.nothingLeft()

	s := h.up("flags", "single", "--feature-gates", "CoordinatedLeaderElection=true", "--runtime-config", "coordination.k8s.io/v1beta1=true",
		"--apiserver-arg", "goaway-chance=0.001", "--controller-manager-arg", "concurrent-gc-syncs=3", "--audit-policy", policy, "--scheduler-config", scheduling,
		"--loadbalancer", "none")
	if text := s.Run("kubectl", "get", "--raw", "/metrics"); !strings.Contains(text, `kubernetes_feature_enabled{name="CoordinatedLeaderElection",stage="BETA"} 1`) {
		t.Error("the feature gate is not on")
	}
	s.Run("kubectl", "get", "--raw", "/apis/coordination.k8s.io/v1beta1")
	if text := s.Run("logs", "audit"); !strings.Contains(text, `"level":"Request"`) || strings.Contains(text, `"resource":"pods"`) {
		t.Errorf("not by the policy:\n%.2000s", text)
	}
	loadBalancerStaysPending(s)
	checkBootstrapObjects(s)
}

// checkBootstrapObjects starts the control plane again: its API server compares the objects that the first one has found in etcd with
// those that it would create, and corrects what differs. Nothing does.
func checkBootstrapObjects(s *sandbox) {
	s.T.Helper()
	versions := func() map[string]string {
		all := map[string]string{}
		kinds := "clusterroles,clusterrolebindings,roles,rolebindings,priorityclasses"
		for _, o := range program.Kubectl[metav1.PartialObjectMetadataList](s.Sandbox, "get", kinds, "-A").Items {
			all[o.Kind+" "+o.Namespace+"/"+o.Name] = o.ResourceVersion
		}
		return all
	}
	before, pid := versions(), s.Component("control-plane").PID
	for _, name := range []string{"ClusterRole /system:node", "ClusterRoleBinding /cluster-admin", "Role kube-system/system::leader-locking-kube-scheduler", "PriorityClass /system-node-critical"} {
		if before[name] == "" {
			s.T.Errorf("there is no %s among %d objects", name, len(before))
		}
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.T.Fatal(err)
	}
	s.Await("another API server is ready", 2*reaction, func() bool {
		now := s.Component("control-plane").PID
		return now != 0 && now != pid && s.Try("--name", s.Name, "kubectl", "get", "--raw", "/readyz").Code == 0
	})
	after := versions()
	for name, version := range before {
		if after[name] != version {
			s.T.Errorf("%s was corrected: version %s, then %q", name, version, after[name])
		}
	}
}
