package lab

import (
	"cmp"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Options of [Start]. Only Topology is required.
type Options struct {
	// Topology is the path of a topology file, or its text, which has more than one line.
	Topology string
	// Settings are values of the topology's parameters.
	Settings []topology.Setting
	// Speed is that of the control plane, and of a CCM's periods unless its options set them. Default 1, upstream's own.
	// To skip the node monitor's grace period use [Kubelets.Fail].
	Speed pace.Speed
	// BootDelay is the time from a VM's power-on to a guest that reports.
	BootDelay time.Duration
	// Audit keeps the API server's audit log, which [Lab.Refused] reads. It costs time with many nodes.
	Audit bool
}

// Lab is a running world. Make one with [Start]; it ends with the test. Methods that return no error end the test when
// they fail.
type Lab struct {
	// Lab of package sim is the vCenters, with their gates, and sessions that go through these.
	*sim.Lab
	// Cluster is the control plane.
	Cluster *embedded.Cluster
	// Client is the admin's client, without a rate limit.
	Client kubernetes.Interface
	// Kubelets registers nodes and sends their heartbeats.
	Kubelets *Kubelets
	// Nodes follows all Nodes from the start on.
	Nodes *Nodes
	// CA signs the vCenters' certificates; CCMs trust it.
	CA *cert.CA
	// Dir is where files of this lab are, logs among them.
	Dir string

	t         TB
	speed     pace.Speed
	operators map[string]*operator // by vCenter
	machines  []*Machine
	byName    map[string]*Machine
	account   *account // of CCMs, once one was started
	binary    string   // our CCM, once one was started
}

// Start returns when the vCenters answer and the control plane works. There are no nodes yet, and there is no CCM.
func Start(t TB, o Options) *Lab {
	t.Helper()
	l := &Lab{
		Dir: t.TempDir(), t: t, speed: cmp.Or(o.Speed, 1),
		operators: map[string]*operator{}, byName: map[string]*Machine{},
	}
	top, err := load(o.Topology, o.Settings)
	if err != nil {
		t.Fatal(err)
	}
	l.startControlPlane(o)
	if l.CA, err = cert.NewCA("lab"); err != nil {
		t.Fatal(err)
	}
	l.Lab = sim.StartWith(t, sim.Options{Topology: top, CA: l.CA, Dir: l.mkdir("vcenters"), BootDelay: o.BootDelay})
	for _, v := range l.VCenters() {
		l.operators[v.Name()] = l.operator(v)
	}
	l.findMachines()
	l.awaitControlPlane()
	l.Nodes = follow(l)
	l.Kubelets = newKubelets(l)
	return l
}

func (l *Lab) mkdir(name string) string {
	l.t.Helper()
	dir := filepath.Join(l.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		l.t.Fatal(err)
	}
	return dir
}

func (l *Lab) write(name string, data []byte) string {
	l.t.Helper()
	path := filepath.Join(l.Dir, name)
	if err := atomicfile.WriteFile(path, data, 0o600); err != nil {
		l.t.Fatal(err)
	}
	return path
}
