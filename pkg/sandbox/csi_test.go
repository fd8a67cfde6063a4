package sandbox

import (
	"strings"
	"testing"
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
