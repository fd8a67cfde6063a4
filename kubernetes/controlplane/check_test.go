package controlplane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

func TestCheck(t *testing.T) {
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const scheduling = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	for name, tc := range map[string]struct {
		knobs contract.Knobs
		want  []string // parts of the error; none: there is no error
	}{
		"none": {},
		"flags and files": {knobs: contract.Knobs{
			APIServer: []string{"--max-requests-inflight=300", "enable-admission-plugins=AlwaysPullImages"}, ControllerManager: []string{"node-monitor-grace-period=1m"},
			Scheduler: []string{"v=2"}, FeatureGates: map[string]bool{"AllBeta": true}, RuntimeConfig: []string{"api/beta=true"},
			AuditPolicy:     write("audit.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Request}]\n"),
			SchedulerConfig: write("scheduler.yaml", scheduling+"profiles: [{schedulerName: mine}]\n"),
		}},
		"all that is wrong at once": {
			knobs: contract.Knobs{APIServer: []string{"secure-port=1", "max-request-inflight=2"}, ControllerManager: []string{"kubeconfig=/x"}, Scheduler: []string{"config=/x"}},
			want: []string{
				"kube-apiserver: --secure-port: the sandbox sets it itself", "kube-apiserver: --max-request-inflight: there is no such flag (did you mean --max-requests-inflight?)",
				"kube-controller-manager: --kubeconfig: the sandbox sets it itself", "kube-scheduler: --config: use --scheduler-config",
			},
		},
		"feature gate":   {contract.Knobs{FeatureGates: map[string]bool{"InPlacePodVerticalScalin": true}}, []string{"there is no InPlacePodVerticalScalin (did you mean InPlacePodVerticalScaling?)"}},
		"API":            {contract.Knobs{RuntimeConfig: []string{"nosuch/v1=true"}}, []string{"nosuch"}},
		"audit policy":   {contract.Knobs{AuditPolicy: write("audit.yaml", "kind: Pod\n")}, []string{"audit.yaml"}},
		"two schedulers": {contract.Knobs{SchedulerConfig: write("s.yaml", scheduling+"clientConnection: {kubeconfig: /x}\n")}, []string{"clientConnection.kubeconfig: the sandbox sets it itself"}},
		"scheduler file": {contract.Knobs{SchedulerConfig: write("s.yaml", scheduling+"nosuch: 1\n")}, []string{"s.yaml", "nosuch"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(t.Context(), tc.knobs)
			if (err == nil) != (len(tc.want) == 0) {
				t.Fatalf("got %v", err)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in:\n%v", part, err)
				}
			}
		})
	}
}

// The user's flags win over what are defaults only, and the node restriction stays.
func TestKnobs(t *testing.T) {
	s, err := apiServerSettings(contract.ControlPlane{Speed: 10, Knobs: contract.Knobs{
		APIServer: []string{"default-not-ready-toleration-seconds=7", "enable-admission-plugins=AlwaysPullImages", "profiling"},
	}}, "")
	if err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{
		"default-not-ready-toleration-seconds": "7", "enable-admission-plugins": "NodeRestriction,AlwaysPullImages", "profiling": "true",
	} {
		if s[flag] != want {
			t.Errorf("--%s=%s, want %s", flag, s[flag], want)
		}
	}
}
