package csi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// newDriver returns a driver of scenario single, nothing of which runs.
func newDriver(t *testing.T) *Driver {
	t.Helper()
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
	return &Driver{
		Topology: top, Sidecars: "/bin/csi-sidecars", Speed: 10, Dir: dir, Components: &components.Registry{Dir: dir},
		Env: func() []string { return nil },
	}
}

// Every sidecar has the kubeconfig that is its own, and the periods of the sandbox's speed.
func TestCSISpec(t *testing.T) {
	d := newDriver(t)
	for _, p := range (Options{}).WithDefaults().processes() {
		spec := d.spec(p, Options{}.WithDefaults(), "/run/csi.sock", "cluster")
		line := strings.Join(spec.Args, " ")
		if !strings.Contains(line, "--kubeconfig="+d.dir(p.name+".kubeconfig")) {
			t.Errorf("%s: %s", p.name, line)
		}
		driver := p.part == partController
		if own := spec.Path == ""; own != driver || driver != strings.Contains(line, "--endpoint=unix:///run/csi.sock") {
			t.Errorf("%s: %s %s", p.name, spec.Path, line)
		}
		if driver {
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

// A driver of this project has the flags of the built-in one and no syncer; any other one has upstream's environment, and a syncer.
func TestSpecOfProgram(t *testing.T) {
	d := newDriver(t)
	d.CloudConfig = "/cloud/vsphere.conf"
	own := Options{
		Program: program.Program{Path: "/bin/mine", Source: "./mine", Own: true}, Syncer: program.Program{Path: "/bin/syncer"},
		Args: []string{"--v=9"}, Env: []string{"A=1"},
	}.WithDefaults()
	var names []string
	for _, p := range own.processes() {
		names = append(names, p.name)
	}
	if slices.Contains(names, syncer) {
		t.Errorf("%q", names)
	}
	at := slices.IndexFunc(own.processes(), func(p process) bool { return p.part == partController })
	controllerProcess := own.processes()[at]
	spec := d.spec(controllerProcess, own, "/run/csi.sock", "cluster")
	line := strings.Join(spec.Args, " ")
	if spec.Path != "/bin/mine" || spec.Args[0] != "--mode=controller" || !strings.Contains(line, "--config=/cloud/vsphere.conf") || !strings.HasSuffix(line, "--v=9") || !slices.Contains(spec.Env, "A=1") {
		t.Errorf("%+v", spec)
	}
	if own.ConfigFile = "/mine.conf"; d.configFile(own) != "/mine.conf" {
		t.Error(d.configFile(own))
	}
	other := Options{Program: program.Program{Path: "/bin/theirs"}, Syncer: program.Program{Path: "/bin/syncer"}, Env: []string{"A=1"}}
	for _, p := range other.processes() {
		spec := d.spec(p, other, "/run/csi.sock", "cluster")
		want := map[part]string{partController: "/bin/theirs", partSyncer: "/bin/syncer", "": "/bin/csi-sidecars"}[p.part]
		if spec.Path != want {
			t.Errorf("%s: %s", p.name, spec.Path)
		}
		if p.part != "" && (!slices.Contains(spec.Env, "CSI_ENDPOINT=unix:///run/csi.sock") || !slices.Contains(spec.Env, "A=1") ||
			!slices.Contains(spec.Env, "VSPHERE_CSI_CONFIG="+d.dir("mounted", "csi-vsphere.conf")) || other.accountOf(p) != foreignAccount) {
			t.Errorf("%s: %q, %s", p.name, spec.Env, other.accountOf(p))
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
		if line := strings.Join(d.flags("csi-provisioner", "/csi.sock", false), " "); !strings.Contains(line, want) {
			t.Errorf("%s: %s", place, line)
		}
	}
}

// silent is a cluster whose API server is at url.
type silent struct {
	cluster.Cluster
	url string
}

func (s silent) REST() *rest.Config { return &rest.Config{Host: s.url} }

// A boot that gives up while the driver starts says what the start waits for.
func TestAwaitStartSaysWhatItWaitsFor(t *testing.T) {
	asked := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client has gone
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	d := newDriver(t)
	d.Cluster = func() cluster.Cluster { return silent{url: server.URL} }
	starting, stop := context.WithCancel(t.Context())
	up := make(chan error, 1)
	d.up = up
	go func() { up <- d.startProcesses(starting, Options{}.WithDefaults()) }()
	<-asked
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("not done after 2m0s"))
	if err := d.awaitStart(ctx); err == nil || err.Error() != "not done after 2m0s; the CSI driver waits for its objects in the cluster" {
		t.Error(err)
	}
	stop()
	if err := d.awaitStart(t.Context()); err == nil {
		t.Error("it has started")
	}
}
