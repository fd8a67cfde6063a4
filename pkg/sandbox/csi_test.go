package sandbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Every sidecar has the kubeconfig that is its own, and the periods of the sandbox's speed.
func TestCSISpec(t *testing.T) {
	s := newSandbox(t, "single")
	s.opts.CSI = CSI{Enabled: true, Sidecars: "/bin/csi-sidecars"}
	for _, p := range csiProcesses() {
		spec := s.csiSpec(p, "/run/csi.sock", "/kube/"+p.name, "cluster")
		line := strings.Join(spec.Args, " ")
		if !strings.Contains(line, "--kubeconfig=/kube/"+p.name) {
			t.Errorf("%s: %s", p.name, line)
		}
		if own := spec.Path == ""; own != p.driver || p.driver != strings.Contains(line, "--endpoint=unix:///run/csi.sock") {
			t.Errorf("%s: %s %s", p.name, spec.Path, line)
		}
		if p.driver {
			continue
		}
		if spec.Args[0] != p.name || !strings.Contains(line, "--retry-interval-max=30s") {
			t.Errorf("%s: %s", p.name, line)
		}
		if needs := p.name != "snapshot-controller"; needs != strings.Contains(line, "--csi-address=/run/csi.sock") {
			t.Errorf("%s: %s", p.name, line)
		}
	}
}

// A volume goes by its claim, with or without its namespace, by its PersistentVolume and by its id.
func TestFindVolume(t *testing.T) {
	rows := []api.Volume{
		{Name: "pvc-1", Claim: "default/data", Handle: "fcd-1"},
		{Name: "pvc-2", Claim: "other/data", Handle: "fcd-2"},
		{Name: "default/logs", Claim: "default/logs"},
		{Name: "fcd-9", Handle: "fcd-9"},
	}
	for name, want := range map[string]string{
		"default/data": "pvc-1", "other/data": "pvc-2", "pvc-2": "pvc-2", "fcd-1": "pvc-1", "logs": "default/logs", "fcd-9": "fcd-9",
	} {
		if got, err := findVolume(rows, name); err != nil || got.Name != want {
			t.Errorf("%s: %s, %v, want %s", name, got.Name, err, want)
		}
	}
	for name, want := range map[string]string{"data": "default/data, other/data", "lgos": `did you mean "logs"`, "nothing-like-it": "no such volume"} {
		var told *api.Error
		if got, err := findVolume(rows, name); !errors.As(err, &told) || !strings.Contains(told.Message, want) {
			t.Errorf("%s: %s, %v, want %s", name, got.Name, err, want)
		}
	}
}
