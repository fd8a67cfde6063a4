package csi

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// Every sidecar has the kubeconfig that is its own, and the periods of the sandbox's speed.
func TestCSISpec(t *testing.T) {
	top, err := scenarios.Load("single")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := instance.Create(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Remove(); err != nil {
			t.Error(err)
		}
	})
	d := &Driver{
		Topology: top, Sidecars: "/bin/csi-sidecars", Speed: 10, Dir: dir, Components: &components.Registry{Dir: dir},
		Env: func() []string { return nil },
	}
	for _, p := range processes() {
		spec := d.spec(p, "/run/csi.sock", "/kube/"+p.name, "cluster")
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

// The provisioner asks for topology only if nodes have one: with a zone and no region it would make no volume for any node.
func TestTopologyOfProvisioner(t *testing.T) {
	for place, want := range map[string]string{
		"zone: z": "--feature-gates=Topology=false", "region: r": "--feature-gates=Topology=false",
		"region: r, zone: z": "--feature-gates=Topology=true",
	} {
		top, err := topology.Load("test.yaml", []byte(`
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec: {vcenters: [{name: vc, datacenters: [{name: dc, clusters: [{name: c, hosts: [{name: h}], `+place+`}], vms: [{name: vm, role: worker}]}]}]}
`))
		if err != nil {
			t.Fatal(err)
		}
		d := &Driver{Topology: top, Speed: 10}
		if line := strings.Join(d.flags("csi-provisioner", "/csi.sock"), " "); !strings.Contains(line, want) {
			t.Errorf("%s: %s", place, line)
		}
	}
}
