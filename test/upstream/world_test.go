package upstream

import (
	"context"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

var churnFor = flag.Duration("churn", time.Minute, "how long VMs are powered off and on and tags change")

// world is a simulation and a control plane, without nodes.
type world struct {
	t       *testing.T
	dir     string
	spec    *topology.Topology
	vcenter *sim.VCenter
	cluster *embedded.Cluster
	caFile  string
	client  *govmomi.Client
	tags    *tags.Manager
}

func newWorld(t *testing.T, text string) *world {
	t.Helper()
	spec, err := topology.Load("topology.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: t.TempDir(), spec: spec}
	w.startSimulation()
	w.startCluster()
	w.connect()
	return w
}

func (w *world) startSimulation() {
	w.t.Helper()
	ca, err := cert.NewCA("upstream")
	if err != nil {
		w.t.Fatal(err)
	}
	w.caFile = filepath.Join(w.dir, "vcenter-ca.crt")
	if err := os.WriteFile(w.caFile, ca.Cert, 0o600); err != nil {
		w.t.Fatal(err)
	}
	s, err := sim.New(w.t.Context(), sim.Options{
		Topology: w.spec, CA: ca, Dir: w.mkdir("sim"), Addresses: []string{"127.0.0.1:0"}, BootDelay: 2 * time.Second,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			w.t.Error(err)
		}
	})
	w.vcenter = s.VCenters()[0]
}

// startCluster runs the control plane of the built binary at upstream's own pace.
func (w *world) startCluster() {
	w.t.Helper()
	dir := w.mkdir("cluster")
	w.cluster = lab.ControlPlane(w.t, embedded.Options{Name: "upstream", Dir: dir, Speed: pace.Speed(1)})
	lab.Await(w.t, w.cluster, dir)
}

// connect logs the test itself in, as an administrator who turns VMs off and moves tags.
func (w *world) connect() {
	w.t.Helper()
	ctx := w.t.Context()
	sc := soap.NewClient(w.vcenter.URL(), false)
	if err := sc.SetRootCAs(w.caFile); err != nil {
		w.t.Fatal(err)
	}
	sc.UserAgent = "churn"
	vc, err := vim25.NewClient(ctx, sc)
	if err != nil {
		w.t.Fatal(err)
	}
	user := url.UserPassword(w.vcenter.User(), w.vcenter.Password())
	w.client = &govmomi.Client{Client: vc, SessionManager: session.NewManager(vc)}
	if err := w.client.Login(ctx, user); err != nil {
		w.t.Fatal(err)
	}
	rc := rest.NewClient(vc)
	if err := rc.Login(ctx, user); err != nil {
		w.t.Fatal(err)
	}
	w.tags = tags.NewManager(rc)
}

func (w *world) mkdir(name string) string {
	w.t.Helper()
	dir := filepath.Join(w.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	return dir
}
