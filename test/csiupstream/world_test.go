package csiupstream

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/vmware/govmomi/vim25"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

var keepLogs = flag.String("logs", "", "folder to keep the programs' logs in")

var quietFor = flag.Duration("quiet", 2*time.Minute, "how long nothing may be tried again at the end")

const (
	namespace = "vmware-system-csi"
	driver    = "csi.vsphere.vmware.com"
	features  = "internal-feature-states.csi.vsphere.vmware.com"
	clusterID = "csiupstream"
)

// world is simulated vCenters, a control plane with nodes, and upstream's driver.
type world struct {
	*lab.Lab
	t       *testing.T
	socket  string
	dynamic dynamic.Interface
	clients map[string]*vim25.Client // by vCenter
	csi     csi.ControllerClient
	driver  *part
	// programs are all that run, the driver's and sidecars.
	programs []*part
}

// start returns when the driver answers. Env is for both of its programs.
func start(t *testing.T, topology string, env ...string) *world {
	t.Helper()
	bin := os.Getenv("UPSTREAM_CSI")
	if bin == "" {
		t.Skip("no release of the upstream driver: UPSTREAM_CSI names the folder of its programs (make csi-upstream builds them and sets it)")
	}
	w := &world{Lab: lab.Start(t, lab.Options{Topology: topology}), t: t, clients: map[string]*vim25.Client{}}
	for _, v := range w.VCenters() {
		w.clients[v.Name()] = w.Lab.Lab.Client(v.Name()).Client
	}
	config, err := clientcmd.BuildConfigFromFlags("", w.Cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if w.dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	w.prepare()

	w.socket = filepath.Join(shortDir(t), "csi.sock")
	conf := filepath.Join(w.Dir, "csi-vsphere.conf")
	if err := os.WriteFile(conf, []byte(w.config()), 0o600); err != nil {
		t.Fatal(err)
	}
	env = append(env,
		"CSI_ENDPOINT=unix://"+w.socket, "X_CSI_MODE=controller", "VSPHERE_CSI_CONFIG="+conf, "CSI_NAMESPACE="+namespace,
		"KUBECONFIG="+w.Cluster.Kubeconfig(), "LOGGER_LEVEL=PRODUCTION", "INCLUSTER_CLIENT_QPS=100", "INCLUSTER_CLIENT_BURST=100",
	)
	args := []string{"--fss-name=" + features, "--fss-namespace=" + namespace}
	w.run("syncer", filepath.Join(bin, "vsphere-syncer"), args, env)
	w.topologies() // which the syncer makes a kind for, and fills in
	w.driver = w.run("vsphere-csi", filepath.Join(bin, "vsphere-csi"), args, env)
	w.connect()
	return w
}

// connect waits until the controller answers.
func (w *world) connect() {
	w.t.Helper()
	conn, err := grpc.NewClient("unix:"+w.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	w.csi = csi.NewControllerClient(conn)
	if _, err := w.csi.ControllerGetCapabilities(ctx, new(csi.ControllerGetCapabilitiesRequest), grpc.WaitForReady(true)); err != nil {
		w.t.Fatalf("driver: %v\n%s", err, w.driver.tail())
	}
}

// part is a program of the driver that runs.
type part struct {
	name, log string
	exits     chan child.Change
}

func (w *world) run(name, path string, args, env []string) *part {
	w.t.Helper()
	dir := w.Dir
	if *keepLogs != "" {
		dir = filepath.Join(*keepLogs, w.t.Name())
	}
	p := &part{name: name, log: filepath.Join(dir, name+".log"), exits: make(chan child.Change, 64)}
	c := child.Start(child.Spec{
		Name: name, Path: path, Args: args, Env: append(os.Environ(), env...), LogPath: p.log, LogLimit: 1 << 30,
	}, func(change child.Change) {
		if change.State == child.Exited {
			select {
			case p.exits <- change:
			default:
			}
		}
	})
	w.programs = append(w.programs, p)
	w.t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			w.t.Error(err)
		}
		if w.t.Failed() {
			w.report(p)
		}
	})
	return p
}

// tail is the end of its log.
func (p *part) tail() []byte {
	log, _ := os.ReadFile(p.log)
	return []byte(lab.Tail(log, 12000))
}

// shortDir is a folder with a short path: that of a socket has 108 bytes at most.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// prepare makes what upstream's manifests make, and the nodes.
func (w *world) prepare() {
	w.t.Helper()
	ctx, core := w.t.Context(), w.Lab.Client.CoreV1()
	if _, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := core.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: features, Namespace: namespace},
		Data:       map[string]string{"trigger-csi-fullsync": "false", "pv-to-backingdiskobjectid-mapping": "false"},
	}, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.Kubelets.RegisterAs(func(n *corev1.Node) {
		m := w.Machine(n.Name) // the kubelet labels its node with the driver's topology
		n.Labels[regionKey], n.Labels[zoneKey] = m.Region, m.Zone
	}, w.Machines()...)
	for _, m := range w.Machines() {
		w.registerNode(m)
	}
}
