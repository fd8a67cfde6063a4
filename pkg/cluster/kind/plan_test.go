package kind

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

var update = flag.Bool("update", false, "rewrite golden files")

// planned are options for the nodes of a topology that comes with the program.
func planned(t *testing.T, name string) Options {
	t.Helper()
	top, err := scenarios.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Name: "demo", Dir: "/state/demo/cluster", Image: "example.org/node:v1.36.4", Speed: 10, Kubernetes: "v1.36.4"}
	for _, ref := range top.Nodes() {
		opts.Nodes = append(opts.Nodes, Node{
			Name: ref.VM.Hostname, UUID: ref.VM.UUID, ControlPlane: ref.VM.Role == topology.RoleControlPlane,
			CPUs: int(ref.VM.CPUs), MemoryBytes: uint64(ref.VM.Memory),
		})
	}
	return opts
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); -update accepts it:\n%s", name, diff)
	}
}

// The node of a real VM says the VM's address.
func TestPlanOfRealVMs(t *testing.T) {
	opts := planned(t, "single")
	for i := range opts.Nodes {
		opts.Nodes[i].Address = netip.AddrFrom4([4]byte{192, 0, 2, byte(10 + i)})
	}
	config, _, err := Plan(opts)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "real.golden", string(config))
	opts.UserConfig, opts.UserFile = []byte("kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnetworking: {ipFamily: dual}\n"), "mine.yaml"
	if _, _, err := Plan(opts); err == nil || !strings.Contains(err.Error(), "mine.yaml:3: ipFamily") {
		t.Errorf("two families: %v", err)
	}
}

// What the sandbox sets itself is refused.
func TestPlanOfKnobs(t *testing.T) {
	opts := planned(t, "single")
	opts.Knobs = contract.Knobs{ControllerManager: []string{"node-monitor-period=1s"}, Scheduler: []string{"v"}}
	_, _, err := Plan(opts)
	for _, want := range []string{"kube-controller-manager: --node-monitor-period: the sandbox sets it itself", `kube-scheduler: "v": want NAME=VALUE`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Before 1.36 kind writes kubeadm's configuration in another API version, and leaves out patches of this one.
func TestPlanOfOlderRelease(t *testing.T) {
	opts := planned(t, "single")
	opts.Kubernetes = "v1.35.4"
	opts.Knobs = contract.Knobs{APIServer: []string{"goaway-chance=0.001"}}
	config, _, err := Plan(opts)
	if err != nil {
		t.Fatal(err)
	}
	text := string(config)
	for _, want := range []string{"apiVersion: kubeadm.k8s.io/v1beta3", `goaway-chance: "0.001"`, `provider-id: ""`, "cloud-provider: external", "name: worker-1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for _, wrong := range []string{kubeadmAPI, "extraEnvs", "- name: cloud-provider"} {
		if strings.Contains(text, wrong) {
			t.Errorf("%s in\n%s", wrong, text)
		}
	}
}

func TestPlan(t *testing.T) {
	several := planned(t, "single")
	several.Name = "several"
	for i := range several.Nodes {
		several.Nodes[i].ControlPlane = true
	}
	several.Port, several.Speed = 6443, 1
	several.Host = runtime.Capacity{CPUs: 16, MemoryBytes: 64 << 30}
	folders := planned(t, "single")
	folders.Volumes = "/state/demo/sim/volumes"
	merged := planned(t, "zones-us-eu")
	merged.Nodes = merged.Nodes[:3]
	merged.Knobs = contract.Knobs{
		APIServer: []string{"goaway-chance=0.001"}, Scheduler: []string{"v=4"}, FeatureGates: map[string]bool{"Own": true},
		RuntimeConfig: []string{"api/alpha=false"},
	}
	merged.UserFile = "testdata/user.yaml"
	var err error
	if merged.UserConfig, err = os.ReadFile(merged.UserFile); err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string]Options{
		"zones-us-eu": planned(t, "zones-us-eu"), "single": planned(t, "single"), "several-control-planes": several, "directories": folders, "merged": merged,
	} {
		t.Run(name, func(t *testing.T) {
			config, steps, err := Plan(opts)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".golden", "# "+strings.Join(steps, "\n# ")+"\n"+string(config))
			// kind reads it as it was meant.
			var c v1alpha4.Cluster
			d := yaml.NewDecoder(strings.NewReader(string(config)))
			d.KnownFields(true)
			if err := d.Decode(&c); err != nil {
				t.Error(err)
			}
		})
	}
}
