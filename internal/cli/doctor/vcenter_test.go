package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/doctor"
)

// at returns surroundings with the variables of a vCenter's administrator.
func at(t *testing.T) *clitest.Env {
	t.Helper()
	lab := sim.Start(t, "../../../pkg/vcenter/testdata/zones.yaml")
	v, _ := lab.VCenter("vc")
	e := clitest.NewEnv(nil)
	e.Vars["GOVC_URL"], e.Vars["GOVC_USERNAME"], e.Vars["GOVC_PASSWORD"] = v.Addr(), v.User(), v.Password()
	e.Vars["GOVC_TLS_CA_CERTS"] = lab.CAFile
	return e
}

func TestVCenter(t *testing.T) {
	e := at(t)
	if r := e.Run(t.Context(), NewCmdDoctor(e.Deps, nil), "--vcenter-config", "env", "--vm", "cp-1"); r.Exit != 0 || strings.Contains(e.Out.String(), "why:") {
		t.Errorf("ended with %+v\n%s", r, e.Out)
	}
	e.Out.Reset()
	r := e.Run(t.Context(), NewCmdDoctor(e.Deps, nil), "--vcenter-config", "env")
	if r.Code != "vcenter-unfit" || r.Exit != report.Prerequisite || !strings.Contains(r.Message, "2 of ") || !strings.HasSuffix(r.Message, ": disk-uuid, hardware-version") {
		t.Errorf("ended with %+v", r)
	}
	lines := strings.Split(e.Out.String(), "\n")
	for i, line := range lines {
		reported := strings.HasPrefix(line, "    why: ")
		if wrong := strings.Contains(line, "   error   ") || strings.Contains(line, "   warning   "); wrong && (i+2 >= len(lines) ||
			!strings.HasPrefix(lines[i+1], "    why: ") || !strings.HasPrefix(lines[i+2], "    try: ")) {
			t.Errorf("of %q it is not told why and what to try", line)
		} else if reported && !strings.Contains(lines[i-1], "error") && !strings.Contains(lines[i-1], "warning") {
			t.Errorf("a reason for what is well: %q", line)
		}
	}
	for format, want := range map[string]string{"json": `"kind": "FindingList"`, "name": "finding/all/uuid-duplicate\n", "wide": "TRY"} {
		e.Out.Reset()
		e.Run(t.Context(), NewCmdDoctor(e.Deps, nil), "--vcenter-config", "env", "-o", format)
		if !strings.Contains(e.Out.String(), want) || format != "json" && strings.Contains(e.Out.String(), "    why:") {
			t.Errorf("-o %s:\n%s", format, e.Out)
		}
	}
}

func TestVCenterAndCluster(t *testing.T) {
	e := at(t)
	asked := ""
	withNodes := func(err error) func(context.Context, *options) error {
		return func(ctx context.Context, o *options) error {
			o.nodes = func(_ context.Context, kubeconfig, context string) (*doctor.Cluster, error) {
				asked = kubeconfig + " " + context
				return &doctor.Cluster{Name: "prod", Nodes: []doctor.Node{{Node: match.Node{Name: "lost", SystemUUID: "no one's"}}}}, err
			}
			return run(ctx, o)
		}
	}
	args := []string{"--vcenter-config", "env", "--vm", "cp-1", "--kubeconfig", "file", "--context", "prod"}
	if r := e.Run(t.Context(), NewCmdDoctor(e.Deps, withNodes(nil)), args...); r.Code != "vcenter-unfit" || asked != "file prod" {
		t.Errorf("%q ended with %+v", asked, r)
	}
	if !strings.Contains(e.Out.String(), "cluster prod ") || !strings.Contains(e.Out.String(), "lost (no one's)") {
		t.Errorf("got\n%s", e.Out)
	}
	if r := e.Run(t.Context(), NewCmdDoctor(e.Deps, withNodes(errors.New("boom"))), args...); r.Message != "boom" {
		t.Errorf("ended with %+v", r)
	}
	if r := e.Run(t.Context(), NewCmdDoctor(e.Deps, nil), "--vcenter-config", "env", "--kubeconfig", filepath.Join(t.TempDir(), "none")); r.Code != "kubeconfig-invalid" || r.Exit != report.Usage {
		t.Errorf("ended with %+v", r)
	}
	gone := filepath.Join(t.TempDir(), "gone")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
	if err := os.WriteFile(gone, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := e.Run(t.Context(), NewCmdDoctor(e.Deps, nil), "--vcenter-config", "env", "--kubeconfig", gone); r.Code != "cluster-unreachable" || r.Exit != report.Failure {
		t.Errorf("ended with %+v", r)
	}
}

func TestFlagsThatDoNotGoTogether(t *testing.T) {
	e := clitest.NewEnv(nil)
	for _, args := range [][]string{{"--folder", "x"}, {"--context", "x"}, {"--kubeconfig", "x"}, {"--vcenter-config", "env", "--fix"}, {"--vcenter-config", "env"}} {
		if r := e.Run(t.Context(), NewCmdDoctor(e.Deps, nil), args...); r.Exit != report.Usage {
			t.Errorf("%v ended with %+v", args, r)
		}
	}
}

func TestNode(t *testing.T) {
	got := doctor.NodeOf(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "w", Labels: map[string]string{"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z"},
			Annotations: map[string]string{"alpha.kubernetes.io/provided-node-ip": "10.0.0.1"},
		},
		Spec: corev1.NodeSpec{ProviderID: "vsphere://u", Taints: []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized"}}},
		Status: corev1.NodeStatus{
			NodeInfo:  corev1.NodeSystemInfo{SystemUUID: "U"},
			Addresses: []corev1.NodeAddress{{Type: "Hostname", Address: "w"}, {Type: "InternalIP", Address: "10.0.0.1"}, {Type: "ExternalIP", Address: "192.0.2.1"}},
		},
	})
	want := doctor.Node{
		Node: match.Node{
			Name: "w", SystemUUID: "U", ProviderID: "vsphere://u", HostNames: []string{"w"}, IPs: []string{"10.0.0.1", "10.0.0.1"},
		},
		Addresses: []string{"10.0.0.1", "192.0.2.1"}, ProvidedIP: "10.0.0.1",
		Region: "r", Zone: "z", Uninitialized: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
